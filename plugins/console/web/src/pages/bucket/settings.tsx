import { NumberInput, SimpleGrid, Switch } from '@mantine/core'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { type Encryption as Encrypted, EncryptionInput, saveEncryption } from '../../parts/encryption-input.tsx'
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

function Encryption({ bucket }: { bucket: string }) {
  const load = async (signal: AbortSignal): Promise<Encrypted> => {
    try {
      return await call('getBucketEncryption', { params: { bucket }, signal })
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return { algorithm: 'none' }
      throw error
    }
  }
  return (
    <BucketSetting
      bucket={bucket}
      id="encryption"
      title={texts.bucket.encryption}
      load={load}
      save={value => saveEncryption(bucket, value)}
    >
      {(value, change) => <EncryptionInput value={value} onChange={change} />}
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
