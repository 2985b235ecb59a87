import { Text } from '@mantine/core'
import { IconLockOpen } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.operate

type Lock = Answer<'listLocks'>['items'][number]

export function Locks() {
  const [released, setReleased] = useState<Lock>()
  const queryClient = useQueryClient()
  const mayRelease = useMay('admin:ForceUnlock')
  return (
    <>
      <ListPage
        title={words.locks}
        queryKey={['locks']}
        refetchInterval={2000}
        load={({ cursor, signal }) => call('listLocks', { query: { cursor }, signal })}
        columns={mayRelease ? [...columns, release(setReleased)] : columns}
        idOf={({ resource, uid }) => `${resource} ${uid}`}
        none={words.noLocks}
      />
      {released !== undefined && (
        <ConfirmDeletion
          title={words.releaseTitle(released.resource)}
          action={words.release}
          onConfirm={async () => {
            const { resource, uid } = released
            // Not that of a later holder, while somebody reads.
            await call('releaseLocks', { query: { resource: [resource], uid } })
            await queryClient.invalidateQueries({ queryKey: ['locks'] })
          }}
          onClose={() => setReleased(undefined)}
        >
          <Text size="sm">{words.releaseText(released.source)}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

const columns: Column<Lock>[] = [
  { title: words.resource, render: ({ resource }) => resource },
  { title: words.heldFor, render: ({ source }) => source },
  { title: words.lockType, render: ({ type }) => type },
  { title: words.holder, render: ({ owner }) => owner },
  { title: words.since, render: ({ since }) => formatDate(since) },
  { title: words.renewed, render: ({ refreshed }) => formatDate(refreshed) },
]

const release = (onRelease: (lock: Lock) => void): Column<Lock> => ({
  title: texts.common.actions,
  isActions: true,
  render: lock => (
    <Tool label={`${words.release} ${lock.resource}`} icon={IconLockOpen} onClick={() => onRelease(lock)} />
  ),
})
