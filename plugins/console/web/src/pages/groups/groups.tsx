import { Button, Text } from '@mantine/core'
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay, useMayAny } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names, State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { EditExistingGroup, EditGroup } from './edit-group.tsx'

export type Group = Answer<'listGroups'>['items'][number]

type Open = { readonly dialog: 'create' } | { readonly dialog: 'edit' | 'delete'; readonly group: Group }

export function Groups() {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const mayChange = useMayAny(changes)
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
        {...(mayChange && { onOpen: (group: Group) => setOpen({ dialog: 'edit', group }) })}
        none={texts.groups.none}
      />
      {open?.dialog === 'create' && <EditGroup onClose={close} />}
      {open?.dialog === 'edit' && <EditExistingGroup name={open.group.name} onClose={close} />}
      {open?.dialog === 'delete' && <DeleteGroup group={open.group} onClose={close} />}
    </>
  )
}

/** Any of these is for the form. */
const changes = [
  'admin:CreateGroup',
  'admin:EnableGroup',
  'admin:DisableGroup',
  'admin:AttachUserOrGroupPolicy',
  'admin:AddUserToGroup',
  'admin:RemoveUserFromGroup',
]

function columnsOf(setOpen: (open: Open) => void): Column<Group>[] {
  return [
    {
      title: texts.common.name,
      render: ({ name }) => name,
      note: ({ description }) => description,
    },
    { title: texts.users.policies, render: ({ policyNames }) => <Names names={policyNames} isToldEmpty /> },
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
            needs={changes}
            onClick={() => setOpen({ dialog: 'edit', group })}
          />
          <Tool
            label={`${texts.common.delete} ${group.name}`}
            icon={IconTrash}
            needs={['admin:DeleteGroup']}
            onClick={() => setOpen({ dialog: 'delete', group })}
          />
        </>
      ),
    },
  ]
}

/** The server deletes no group that has members. */
function DeleteGroup({ group, onClose }: { group: Group; onClose: () => void }) {
  const queryClient = useQueryClient()
  const mayAsk = useMay('admin:GetGroup')
  // The list may be old.
  const { data } = useQuery({
    queryKey: ['groups', 'members', group.name],
    queryFn: async ({ signal }) =>
      (await call('getGroup', { params: { group: group.name }, signal })).members?.length ?? 0,
    enabled: mayAsk,
    staleTime: 0,
    refetchOnMount: 'always',
  })
  const remove = async () => {
    await call('deleteGroup', { params: { group: group.name } })
    await queryClient.invalidateQueries({ queryKey: ['groups'] })
  }
  return (
    <ConfirmDeletion
      title={texts.groups.deleteTitle(group.name)}
      isReady={!mayAsk || data === 0}
      onConfirm={remove}
      onClose={onClose}
    >
      <Text size="sm">{mayAsk ? data !== undefined && texts.groups.deleteText(data) : texts.groups.deleteUnknown}</Text>
    </ConfirmDeletion>
  )
}
