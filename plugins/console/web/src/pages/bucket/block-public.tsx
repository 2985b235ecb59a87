import { Alert, Switch, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { asRead, call, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { texts } from '../../texts/index.ts'
import { Openings } from '../access/openings.tsx'
import { BucketSetting } from './bucket-setting.tsx'

type Block = Answer<'getBucketBlockPublic'>

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
        load={signal => callTagged('getBucketBlockPublic', { params, signal })}
        save={async ({ document: { enabled }, etag }, { document: stored }) => {
          // Also while the whole deployment blocks: perhaps it does not any more, and one day it will not.
          // S3 clients set single flags of it, which close as well.
          const text = stored.flags.length > 0 && !enabled ? await openedBy(bucket) : null
          if (text !== null && !(await ask({ title: words.openTitle, action: words.confirm, text }))) return 'stay'
          return callTagged('setBucketBlockPublic', { params, body: { enabled }, ...asRead(etag) })
        }}
      >
        {({ document: block, etag }, change, { document: stored }) => (
          <>
            <Switch
              label={texts.bucket.ownBlock}
              description={partSaid(block, stored)}
              checked={block.enabled}
              onChange={event =>
                change({ document: { ...block, enabled: event.currentTarget.checked, flags: [] }, etag })
              }
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

/** Of a block of which some flags are set: that they are, or that they go when it is saved. */
function partSaid(block: Block, stored: Block): string | undefined {
  if (block.enabled || stored.enabled || stored.flags.length === 0) return undefined
  const flags = new Intl.ListFormat('en').format(stored.flags)
  return block.flags.length > 0 ? texts.bucket.blockedInPart(flags) : texts.bucket.partGoes(flags)
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

const words = accessRuleTexts

/** What lets everybody in now, and will not when the block is saved. */
function Closes({ bucket }: { bucket: string }) {
  const { data, error } = useQuery({
    queryKey: ['access-rules', bucket, 'closes'],
    queryFn: async ({ signal }) => {
      const { openings, objectLists, blockPublic } = await call('getAccessRules', { params: { bucket }, signal })
      return { open: openings.filter(({ blocked }) => !blocked), hasLists: objectLists && !blockPublic }
    },
    staleTime: 0,
  })
  if (error instanceof Problem && error.status === 403) return <Text size="sm">{words.closesUnknown}</Text>
  if (error !== null) return <ProblemAlert error={error} />
  if (data === undefined) return null
  const { open, hasLists } = data
  // Which objects have one that opens them only reading all of them would tell.
  const ofObjects = hasLists && <Text size="sm">{words.closesObjectLists}</Text>
  if (open.length === 0) {
    return (
      <>
        <Text size="sm">{words.closesNothing}</Text>
        {ofObjects}
      </>
    )
  }
  return (
    <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={words.closesTitle}>
      <Openings bucket={bucket} openings={open} />
      {ofObjects}
    </Alert>
  )
}
