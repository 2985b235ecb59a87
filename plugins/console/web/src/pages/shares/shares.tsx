import { Anchor, Button, Switch, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { lastUseOf } from '../../parts/last-use.ts'
import { ListPage } from '../../parts/list-page.tsx'
import { Name } from '../../parts/name.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

type Share = Answer<'listShares'>['items'][number]

export function Shares() {
  const { session } = useSignedIn()
  const [all, setAll] = useState(false)
  const [revoked, setRevoked] = useState<Share>()
  return (
    <>
      <ListPage
        title={texts.shares.title}
        {...(session.identity.isRoot && {
          head: (
            <Switch label={texts.shares.all} checked={all} onChange={event => setAll(event.currentTarget.checked)} />
          ),
        })}
        queryKey={['shares', all]}
        load={({ cursor, signal }) => call('listShares', { query: { cursor, ...(all && { all }) }, signal })}
        columns={columnsOf(setRevoked)}
        idOf={({ id }) => id}
        none={all ? texts.shares.noneAtAll : texts.shares.none}
      />
      {revoked !== undefined && <RevokeShare share={revoked} onClose={() => setRevoked(undefined)} />}
    </>
  )
}

/** The prefix under which a bucket lists it. */
const folderOf = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1)

function columnsOf(onRevoke: (share: Share) => void): Column<Share>[] {
  return [
    {
      title: texts.shares.object,
      render: ({ bucket, key, description }) => (
        <Titled
          name={
            <Anchor
              className="long-name"
              component={Link}
              to="/buckets/$bucket"
              {...({ params: { bucket }, search: { prefix: folderOf(key), object: key } } as object)}
            >
              <Name>{`${bucket}/${key}`}</Name>
            </Anchor>
          }
          note={description}
        />
      ),
    },
    { title: texts.shares.owner, render: ({ owner }) => owner },
    { title: texts.shares.expires, render: ({ expiresAt }) => formatDate(expiresAt) },
    {
      title: texts.shares.lastUsed,
      render: share => lastUseOf(share),
    },
    {
      title: texts.shares.state,
      render: ({ state }) => <State text={texts.shares.states[state]} is={state === 'active' ? 'good' : 'neutral'} />,
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: share =>
        share.state === 'active' && (
          <Button size="compact-sm" variant="light" color="red" onClick={() => onRevoke(share)}>
            {texts.shares.revoke}
          </Button>
        ),
    },
  ]
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
