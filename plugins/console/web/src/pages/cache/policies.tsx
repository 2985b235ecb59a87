/** Cache policies: those that are built in, and own ones. */
import { Button, Group, Text } from '@mantine/core'
import { IconCopy, IconEye, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { EditPolicy } from './edit-policy.tsx'
import { textOf } from './fields.ts'

const words = cacheTexts.cachePolicies

export type CachePolicy = Answer<'listCachePolicies'>['items'][number]

interface Open {
  /** `copy`: a new one that begins as this one is. */
  readonly dialog: 'create' | 'edit' | 'copy' | 'delete'
  readonly policy?: CachePolicy
}

export function Policies() {
  const [open, setOpen] = useState<Open>()
  const queryClient = useQueryClient()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['cache-policies'] })
  const close = () => setOpen(undefined)
  return (
    <>
      <ListPage
        title={texts.cache.tabs.policies}
        isPart
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'create' })}>
            {words.create}
          </Button>
        }
        queryKey={['cache-policies']}
        load={({ cursor, signal }) => call('listCachePolicies', { query: { cursor }, signal })}
        columns={columnsOf(setOpen)}
        idOf={({ name }) => name}
        none={words.none}
      />
      {open?.dialog === 'delete' && open.policy !== undefined && (
        <Delete policy={open.policy} onClose={close} onDone={refresh} />
      )}
      {open !== undefined && open.dialog !== 'delete' && (
        <EditPolicy
          {...(open.policy && { policy: open.policy })}
          isNew={open.dialog !== 'edit'}
          onClose={close}
          onDone={refresh}
        />
      )}
    </>
  )
}

function Delete({
  policy,
  onClose,
  onDone,
}: {
  policy: CachePolicy
  onClose: () => void
  onDone: () => Promise<void>
}) {
  const { name, etag } = policy
  return (
    <ConfirmDeletion
      title={texts.publishing.deleteTitle(name)}
      onConfirm={async () => {
        await call('deleteCachePolicy', { params: { name }, ifMatch: etag })
        await onDone()
      }}
      onClose={onClose}
    >
      <Text size="sm">{words.deleteText}</Text>
    </ConfirmDeletion>
  )
}

function columnsOf(setOpen: (open: Open) => void): Column<CachePolicy>[] {
  return [
    {
      title: texts.common.name,
      render: ({ name, comment, builtin }) => (
        <Group gap="xs">
          <div>
            <Titled name={name} note={comment} />
          </div>
          {builtin && <State text={words.builtIn} is="neutral" />}
        </Group>
      ),
    },
    {
      title: words.freshFor,
      render: ({ ttl, bypass }) =>
        bypass?.always === true
          ? cacheTexts.cacheInspect.nothing
          : textOf('duration', ttl?.default) || texts.cache.inherited,
    },
    {
      title: texts.common.updated,
      render: ({ updatedAt }) => (updatedAt === undefined ? '' : formatDate(updatedAt)),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: policy => (
        <>
          <Tool
            label={`${policy.builtin ? words.show : texts.common.edit} ${policy.name}`}
            icon={policy.builtin ? IconEye : IconPencil}
            onClick={() => setOpen({ dialog: 'edit', policy })}
          />
          <Tool
            label={`${words.copyOf} ${policy.name}`}
            icon={IconCopy}
            onClick={() => setOpen({ dialog: 'copy', policy })}
          />
          {!policy.builtin && (
            <Tool
              label={`${texts.common.delete} ${policy.name}`}
              icon={IconTrash}
              onClick={() => setOpen({ dialog: 'delete', policy })}
            />
          )}
        </>
      ),
    },
  ]
}
