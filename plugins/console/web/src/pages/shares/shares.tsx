import { Badge, Button, Stack, Switch, Table, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { infiniteQueryOptions, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'

type Share = Answer<'listShares'>['items'][number]

const sharesQuery = (all: boolean) =>
  infiniteQueryOptions({
    queryKey: ['shares', all],
    queryFn: ({ pageParam, signal }) =>
      call('listShares', { query: { cursor: pageParam, limit: 200, ...(all && { all }) }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => (nextCursor === '' ? undefined : nextCursor),
  })

export function Shares() {
  const { session } = useSignedIn()
  const [all, setAll] = useState(false)
  const [revoked, setRevoked] = useState<Share>()
  const list = useInfiniteQuery(sharesQuery(all))
  const items = list.data?.pages.flatMap(page => page.items) ?? []
  return (
    <Stack>
      <Title order={1} size="h2">
        {texts.shares.title}
      </Title>
      {session.identity.isRoot && (
        <Switch label={texts.shares.all} checked={all} onChange={event => setAll(event.currentTarget.checked)} />
      )}
      {list.error !== null && <ProblemAlert error={list.error} onRetry={() => list.refetch()} />}
      {list.isSuccess && items.length === 0 && <Text c="dimmed">{texts.shares.none}</Text>}
      {items.length > 0 && <ShareTable items={items} onRevoke={setRevoked} />}
      {list.hasNextPage && (
        <Button variant="default" onClick={() => list.fetchNextPage()} loading={list.isFetchingNextPage}>
          {texts.common.more}
        </Button>
      )}
      {revoked !== undefined && <RevokeShare share={revoked} onClose={() => setRevoked(undefined)} />}
    </Stack>
  )
}

function RevokeShare({ share, onClose }: { share: Share; onClose: () => void }) {
  const queryClient = useQueryClient()
  const revoke = async () => {
    await call('revokeShare', { params: { id: share.id } })
    notifications.show({ color: 'teal', message: texts.shares.revoked })
    await queryClient.invalidateQueries({ queryKey: ['shares'] })
  }
  return (
    <ConfirmDeletion title={texts.shares.revokeTitle} action={texts.shares.revoke} onConfirm={revoke} onClose={onClose}>
      <Text size="sm">{texts.shares.revokeText(`${share.bucket}/${share.key}`)}</Text>
    </ConfirmDeletion>
  )
}

function ShareTable({ items, onRevoke }: { items: readonly Share[]; onRevoke: (share: Share) => void }) {
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.shares.object}</Table.Th>
            <Table.Th>{texts.shares.owner}</Table.Th>
            <Table.Th>{texts.shares.expires}</Table.Th>
            <Table.Th>{texts.shares.lastUsed}</Table.Th>
            <Table.Th>{texts.shares.state}</Table.Th>
            <Table.Th aria-label={texts.common.actions} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map(share => (
            <Table.Tr key={share.id}>
              <Table.Td>
                {share.bucket}/{share.key}
                {share.description !== '' && (
                  <Text size="xs" c="dimmed">
                    {share.description}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>{share.owner}</Table.Td>
              <Table.Td>{formatDate(share.expiresAt)}</Table.Td>
              <Table.Td>{share.lastUsedAt === undefined ? texts.common.never : formatDate(share.lastUsedAt)}</Table.Td>
              <Table.Td>
                <Badge variant="light" color={share.state === 'active' ? 'teal' : 'gray'}>
                  {texts.shares.states[share.state]}
                </Badge>
              </Table.Td>
              <Table.Td ta="right">
                {share.state === 'active' && (
                  <Button size="compact-sm" variant="light" color="red" onClick={() => onRevoke(share)}>
                    {texts.shares.revoke}
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
