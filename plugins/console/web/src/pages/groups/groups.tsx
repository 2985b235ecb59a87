import { Button, Switch, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { changePolicies } from '../../parts/change-policies.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { type Column, ListPage } from '../../parts/list-page.tsx'
import { Names, State, Titled } from '../../parts/names.tsx'
import { NamesInput } from '../../parts/names-input.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

type Group = Answer<'listGroups'>['items'][number]

type Open = { readonly dialog: 'create' } | { readonly dialog: 'edit' | 'delete'; readonly group: Group }

export function Groups() {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  return (
    <>
      <ListPage
        title={texts.groups.title}
        actions={
          useMay('admin:CreateGroup') && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
              {texts.groups.create}
            </Button>
          )
        }
        queryKey={['groups']}
        hasFilter
        load={({ prefix, cursor, signal }) => call('listGroups', { query: { prefix, cursor }, signal })}
        columns={columnsOf(setOpen)}
        idOf={({ name }) => name}
        none={texts.groups.none}
      />
      {open?.dialog === 'create' && <EditGroup onClose={close} />}
      {open?.dialog === 'edit' && <LoadedGroup name={open.group.name} onClose={close} />}
      {open?.dialog === 'delete' && <DeleteGroup group={open.group} onClose={close} />}
    </>
  )
}

function columnsOf(setOpen: (open: Open) => void): Column<Group>[] {
  return [
    {
      title: texts.common.name,
      render: ({ name, description }) => <Titled name={name} note={description} />,
    },
    { title: texts.users.policies, render: ({ policyNames }) => <Names names={policyNames} /> },
    { title: texts.groups.members, isNumber: true, render: ({ memberCount }) => memberCount },
    {
      title: texts.common.state,
      render: ({ status }) => <State text={texts.common[status]} is={status === 'enabled' ? 'good' : 'neutral'} />,
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: group => (
        <>
          <Tool
            label={`${texts.common.edit} ${group.name}`}
            icon={IconPencil}
            onClick={() => setOpen({ dialog: 'edit', group })}
          />
          <Tool
            label={`${texts.common.delete} ${group.name}`}
            icon={IconTrash}
            onClick={() => setOpen({ dialog: 'delete', group })}
          />
        </>
      ),
    },
  ]
}

/** The list has the number of members, not their names. */
function LoadedGroup({ name, onClose }: { name: string; onClose: () => void }) {
  const { data } = useQuery({
    queryKey: ['group', name],
    queryFn: ({ signal }) => call('getGroup', { params: { group: name }, signal }),
    staleTime: 0,
  })
  return data === undefined ? null : <EditGroup group={data} onClose={onClose} />
}

function EditGroup({ group, onClose }: { group?: Group; onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({
    initialValues: {
      name: group?.name ?? '',
      description: group?.description ?? '',
      isEnabled: group?.status !== 'disabled',
      policyNames: group?.policyNames ?? [],
      members: group?.members ?? [],
    },
  })
  const { name, description, isEnabled, policyNames, members } = form.values
  const save = async () => {
    if (group === undefined) {
      await call('createGroup', { body: { name: name.trim(), description, members } })
      await changePolicies({ group: name.trim() }, [], policyNames)
    } else {
      const params = { group: group.name }
      const status = isEnabled ? ('enabled' as const) : ('disabled' as const)
      const body = {
        ...(description !== group.description && { description }),
        ...(status !== group.status && { status }),
      }
      if (Object.keys(body).length > 0) await call('updateGroup', { params, body })
      await changePolicies({ group: group.name }, group.policyNames, policyNames)
      const before = group.members ?? []
      const joined = members.filter(member => !before.includes(member))
      if (joined.length > 0) await call('addGroupMembers', { params, body: { members: joined } })
      for (const user of before.filter(member => !members.includes(member))) {
        await call('removeGroupMember', { params: { ...params, user } })
      }
    }
    await queryClient.invalidateQueries({ queryKey: ['groups'] })
  }
  return (
    <FormDialog
      form={form}
      title={group === undefined ? texts.groups.create : group.name}
      submit={group === undefined ? texts.common.create : texts.common.save}
      onSubmit={save}
      onClose={onClose}
    >
      {group === undefined && (
        <TextInput
          label={texts.common.name}
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
      )}
      <NamesInput
        label={texts.users.policies}
        of="policies"
        value={policyNames}
        onChange={names => form.setFieldValue('policyNames', names)}
      />
      <NamesInput
        label={texts.groups.members}
        of="users"
        value={members}
        onChange={names => form.setFieldValue('members', names)}
      />
      <TextInput label={texts.common.description} {...form.getInputProps('description')} />
      {group !== undefined && (
        <Switch label={texts.groups.isEnabled} {...form.getInputProps('isEnabled', { type: 'checkbox' })} />
      )}
    </FormDialog>
  )
}

function DeleteGroup({ group, onClose }: { group: Group; onClose: () => void }) {
  const queryClient = useQueryClient()
  const remove = async () => {
    await call('deleteGroup', { params: { group: group.name } })
    await queryClient.invalidateQueries({ queryKey: ['groups'] })
  }
  return (
    <ConfirmDeletion title={texts.groups.deleteTitle(group.name)} onConfirm={remove} onClose={onClose}>
      <Text size="sm">{texts.groups.deleteText(group.memberCount)}</Text>
    </ConfirmDeletion>
  )
}
