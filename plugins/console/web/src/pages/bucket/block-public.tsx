import { Alert, Switch, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'
import { Openings } from '../access/openings.tsx'
import { BucketSetting } from './bucket-setting.tsx'

export function BlockPublic({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="block-public"
      needs={['s3:PutBucketPublicAccessBlock', 'admin:ManageAccessRules']}
      title={texts.bucket.block}
      hint={texts.bucket.blockHint}
      stale={[['access-rules', bucket], ['bucket-access', bucket], ['distributions'], ['distribution']]}
      load={signal => call('getBucketBlockPublic', { params, signal })}
      save={({ enabled }) => call('setBucketBlockPublic', { params, body: { enabled } })}
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
  )
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
