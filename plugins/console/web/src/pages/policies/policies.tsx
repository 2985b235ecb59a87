import { Button, Text } from '@mantine/core'
import { IconEye, IconPencil, IconPlus, IconQuestionMark, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names, State } from '../../parts/names.tsx'
import { SimulatorDrawer } from '../../parts/simulator.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

/** Loaded on demand: its editor is larger than the rest of the page. */
const EditPolicy = lazy(async () => ({ default: (await import('./edit-policy.tsx')).EditPolicy }))

export type Policy = Answer<'listPolicies'>['items'][number]

type Open = { readonly dialog: 'create' | 'simulate' } | { readonly dialog: 'edit' | 'delete'; readonly policy: Policy }

export function Policies() {
  const [open, setOpen] = useState<Open>()
  const mayCreate = useMay('admin:CreatePolicy')
  const close = () => setOpen(undefined)
  return (
    <>
      <ListPage
        title={texts.policies.title}
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconQuestionMark size={16} aria-hidden />}
              onClick={() => setOpen({ dialog: 'simulate' })}
            >
              {texts.simulator.open}
            </Button>
            {mayCreate && (
              <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
                {texts.policies.create}
              </Button>
            )}
          </>
        }
        queryKey={['policies']}
        hasFilter
        load={({ prefix, cursor, signal }) =>
          call('listPolicies', { query: { prefix, cursor, attachedTo: true }, signal })
        }
        columns={columnsOf(setOpen, mayCreate)}
        idOf={({ name }) => name}
        onOpen={policy => setOpen({ dialog: 'edit', policy })}
        none={texts.policies.none}
      />
      {open?.dialog === 'simulate' && <SimulatorDrawer onClose={close} />}
      <Suspense>
        {open?.dialog === 'create' && <EditPolicy onClose={close} />}
        {open?.dialog === 'edit' && <EditPolicy policy={open.policy} onClose={close} />}
      </Suspense>
      {open?.dialog === 'delete' && <DeletePolicy policy={open.policy} onClose={close} />}
    </>
  )
}

/** Users and groups that have it; undefined for callers who may not read all policies. */
const namesOf = ({ attachedTo }: Policy) => attachedTo && [...attachedTo.users, ...attachedTo.groups]

function columnsOf(setOpen: (open: Open) => void, mayChange: boolean): Column<Policy>[] {
  return [
    { title: texts.common.name, render: ({ name }) => name },
    { title: texts.common.used, render: policy => <Names names={namesOf(policy) ?? []} /> },
    {
      title: texts.policies.kind,
      render: ({ builtIn }) => <State text={builtIn ? texts.policies.builtIn : texts.policies.own} is="neutral" />,
    },
    { title: texts.common.updated, render: ({ updatedAt }) => (updatedAt === null ? '' : formatDate(updatedAt)) },
    {
      title: texts.common.actions,
      isActions: true,
      render: policy => (
        <>
          <Tool
            label={`${policy.builtIn || !mayChange ? texts.policies.view : texts.common.edit} ${policy.name}`}
            icon={policy.builtIn || !mayChange ? IconEye : IconPencil}
            onClick={() => setOpen({ dialog: 'edit', policy })}
          />
          {!policy.builtIn && (
            <Tool
              label={`${texts.common.delete} ${policy.name}`}
              icon={IconTrash}
              needs={['admin:DeletePolicy']}
              onClick={() => setOpen({ dialog: 'delete', policy })}
            />
          )}
        </>
      ),
    },
  ]
}

/** The server deletes no policy that somebody has. */
function DeletePolicy({ policy, onClose }: { policy: Policy; onClose: () => void }) {
  const queryClient = useQueryClient()
  const mayAsk = useMay('admin:GetPolicy')
  // The list may be old.
  const { data } = useQuery({
    queryKey: ['policies', 'one', policy.name],
    queryFn: async ({ signal }) => namesOf(await call('getPolicy', { params: { name: policy.name }, signal })),
    enabled: mayAsk,
    staleTime: 0,
    refetchOnMount: 'always',
  })
  const remove = async () => {
    await call('deletePolicy', { params: { name: policy.name } })
    await queryClient.invalidateQueries({ queryKey: ['policies'] })
  }
  return (
    <ConfirmDeletion
      title={texts.policies.deleteTitle(policy.name)}
      isReady={!mayAsk || data?.length === 0}
      onConfirm={remove}
      onClose={onClose}
    >
      <Text size="sm">
        {mayAsk ? data !== undefined && texts.policies.deleteText(data) : texts.policies.deleteUnknown}
      </Text>
    </ConfirmDeletion>
  )
}
