import { NativeSelect, NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { objectOf, PairsInput, pairsOf } from '../../parts/pairs-input.tsx'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from './bucket-setting.tsx'
import { CorsRules } from './cors.tsx'
import { ObjectLock } from './object-lock.tsx'

const gib = 1024 ** 3

export function Settings({ bucket }: { bucket: string }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Versioning bucket={bucket} />
      <ObjectLock bucket={bucket} />
      <Quota bucket={bucket} />
      <Encryption bucket={bucket} />
      <Tags bucket={bucket} />
      <CorsRules bucket={bucket} />
    </SimpleGrid>
  )
}

function Versioning({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="versioning"
      title={texts.bucket.versioning}
      load={signal => call('getBucketVersioning', { params, signal })}
      save={body => call('setBucketVersioning', { params, body })}
    >
      {({ status }, change) => (
        <Switch
          label={texts.bucket.keepVersions}
          description={texts.bucket.versioningStates[status]}
          checked={status === 'enabled'}
          onChange={event => change({ status: event.currentTarget.checked ? 'enabled' : 'suspended' })}
        />
      )}
    </BucketSetting>
  )
}

function Quota({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="quota"
      title={texts.bucket.quota}
      load={signal => call('getBucketQuota', { params, signal })}
      save={body => call('setBucketQuota', { params, body })}
    >
      {({ size }, change) => (
        <NumberInput
          label={texts.bucket.quotaHint}
          min={0}
          value={size === 0 ? '' : Math.round((size / gib) * 1000) / 1000}
          onChange={given =>
            change(given === '' ? { type: '', size: 0 } : { type: 'hard', size: Math.round(Number(given) * gib) })
          }
        />
      )}
    </BucketSetting>
  )
}

type Encrypted = Answer<'getBucketEncryption'> | { readonly algorithm: 'none'; readonly kmsKeyId?: string }

function Encryption({ bucket }: { bucket: string }) {
  const params = { bucket }
  const load = async (signal: AbortSignal): Promise<Encrypted> => {
    try {
      return await call('getBucketEncryption', { params, signal })
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return { algorithm: 'none' }
      throw error
    }
  }
  const save = async ({ algorithm, kmsKeyId = '' }: Encrypted) => {
    if (algorithm === 'none') return call('deleteBucketEncryption', { params })
    const body = { algorithm, ...(algorithm === 'aws:kms' && kmsKeyId !== '' && { kmsKeyId }) }
    return call('setBucketEncryption', { params, body })
  }
  return (
    <BucketSetting bucket={bucket} id="encryption" title={texts.bucket.encryption} load={load} save={save}>
      {({ algorithm, kmsKeyId = '' }, change) => (
        <Stack gap="xs">
          <NativeSelect
            aria-label={texts.bucket.encryption}
            data={Object.entries(texts.bucket.encryptions).map(([value, label]) => ({ value, label }))}
            value={algorithm}
            onChange={event => change({ algorithm: event.currentTarget.value as Encrypted['algorithm'] } as Encrypted)}
          />
          {algorithm === 'aws:kms' && (
            <TextInput
              label={texts.bucket.key}
              value={kmsKeyId}
              onChange={event => change({ algorithm, kmsKeyId: event.currentTarget.value })}
            />
          )}
        </Stack>
      )}
    </BucketSetting>
  )
}

function Tags({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="tags"
      title={texts.bucket.tags}
      load={async signal => pairsOf((await call('getBucketTags', { params, signal })).tags)}
      save={tags => call('setBucketTags', { params, body: { tags: objectOf(tags) } })}
    >
      {(tags, change) => <PairsInput of={texts.bucket.tag} value={tags} onChange={change} />}
    </BucketSetting>
  )
}
