import { Alert, Switch, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'
import { Openings } from '../access/openings.tsx'
import { BucketSetting } from './bucket-setting.tsx'

export function BlockPublic({ bucket }: { bucket: string }) {
  const params = { bucket }
  const { ask, question } = useAskFirst()
  return (
    <>
      <BucketSetting
        bucket={bucket}
        id="block-public"
        needs={['s3:PutBucketPublicAccessBlock', 'admin:ManageAccessRules']}
        title={texts.bucket.block}
        hint={texts.bucket.blockHint}
        stale={[['access-rules', bucket], ['bucket-access', bucket], ['distributions'], ['distribution']]}
        load={signal => call('getBucketBlockPublic', { params, signal })}
        save={async ({ enabled }, stored) => {
          // Also while the whole deployment blocks: perhaps it does not any more, and one day it will not.
          const text = stored.enabled && !enabled ? await openedBy(bucket) : null
          if (text !== null && !(await ask({ title: words.openTitle, action: words.confirm, text }))) return 'stay'
          return call('setBucketBlockPublic', { params, body: { enabled } })
        }}
      >
        {(block, change, stored) => (
          <>
            <Switch
              label={texts.bucket.ownBlock}
              checked={block.enabled}
              onChange={event => change({ ...block, enabled: event.currentTarget.checked })}
            />
            {block.enabled && !stored.enabled && <Closes bucket={bucket} />}
            {block.cluster && <Text size="sm">{texts.bucket.clusterBlocks}</Text>}
          </>
        )}
      </BucketSetting>
      {question}
    </>
  )
}

/** What the block keeps closed; null if that is nothing. */
async function openedBy(bucket: string): Promise<ReactNode> {
  try {
    const { openings, objectLists } = await call('getAccessRules', { params: { bucket } })
    if (openings.length === 0 && !objectLists) return null
    return (
      <>
        <Openings bucket={bucket} openings={openings} />
        {objectLists && <Text size="sm">{words.objectLists}</Text>}
      </>
    )
  } catch (error) {
    if (error instanceof Problem && error.status === 403) return <Text size="sm">{words.opensUnknown}</Text>
    throw error
  }
}

const words = texts.accessRules

/** What lets everybody in now, and will not when the block is saved. */
function Closes({ bucket }: { bucket: string }) {
  const { data, error } = useQuery({
    queryKey: ['access-rules', bucket, 'closes'],
    queryFn: async ({ signal }) => {
      const { openings } = await call('getAccessRules', { params: { bucket }, signal })
      return openings.filter(({ blocked }) => !blocked)
    },
    staleTime: 0,
  })
  if (error instanceof Problem && error.status === 403) return <Text size="sm">{words.closesUnknown}</Text>
  if (error !== null) return <ProblemAlert error={error} />
  if (data === undefined) return null
  if (data.length === 0) return <Text size="sm">{words.closesNothing}</Text>
  return (
    <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={words.closesTitle}>
      <Openings bucket={bucket} openings={data} />
    </Alert>
  )
}
