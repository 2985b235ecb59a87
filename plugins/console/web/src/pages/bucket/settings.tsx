import { Alert, Button, Group, SimpleGrid, Switch } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { asRead, callTagged, type Tagged } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { BytesInput } from '../../parts/bytes-input.tsx'
import { type Encryption as Encrypted, EncryptionInput, saveEncryption } from '../../parts/encryption-input.tsx'
import { formatBytes } from '../../parts/format.ts'
import { objectOf, pairsOf } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { PartsCount, QuotaUse } from '../../parts/quota-use.tsx'
import { useRights } from '../../parts/rights.ts'
import { Section } from '../../parts/section.tsx'
import { bucketContent } from '../../texts/bucket-content.ts'
import { texts } from '../../texts/index.ts'
import { bucketQuery } from '../objects/queries.ts'
import { BucketSetting } from './bucket-setting.tsx'
import { CorsRules } from './cors.tsx'
import { ObjectLock } from './object-lock.tsx'

const DeleteBucket = lazy(async () => ({ default: (await import('../buckets/delete-bucket.tsx')).DeleteBucket }))

export function Settings({ bucket }: { bucket: string }) {
  const rights = useRights(bucket)
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {rights.has('s3:GetBucketVersioning') && <Versioning bucket={bucket} />}
      {rights.has('s3:GetBucketObjectLockConfiguration') && <ObjectLock bucket={bucket} />}
      {rights.has('admin:GetBucketQuota') && <Quota bucket={bucket} />}
      {rights.has('s3:GetEncryptionConfiguration') && <Encryption bucket={bucket} />}
      {rights.has('s3:GetBucketTagging') && <Tags bucket={bucket} />}
      {rights.has('s3:GetBucketCORS') && <CorsRules bucket={bucket} />}
      {rights.has('s3:DeleteBucket') && <DeleteThis bucket={bucket} />}
    </SimpleGrid>
  )
}

function Versioning({ bucket }: { bucket: string }) {
  const params = { bucket }
  const isLocked = useQuery(bucketQuery(bucket)).data?.objectLockEnabled === true
  return (
    <BucketSetting
      bucket={bucket}
      id="versioning"
      needs={['s3:PutBucketVersioning']}
      title={texts.bucket.versioning}
      load={signal => callTagged('getBucketVersioning', { params, signal })}
      save={({ document, etag }) => callTagged('setBucketVersioning', { params, body: document, ...asRead(etag) })}
    >
      {({ document: { status }, etag }, change) => (
        <Switch
          label={texts.bucket.keepVersions}
          description={isLocked ? texts.bucket.neededByLock : texts.bucket.versioningStates[status]}
          checked={status === 'enabled'}
          aria-disabled={isLocked}
          className={isLocked ? 'fixed-switch' : undefined}
          onChange={event =>
            !isLocked && change({ document: { status: event.currentTarget.checked ? 'enabled' : 'suspended' }, etag })
          }
        />
      )}
    </BucketSetting>
  )
}

function Quota({ bucket }: { bucket: string }) {
  const params = { bucket }
  const words = bucketContent.quota
  const { data: { size: ofVersions, uploadsSize = 0 } = {} } = useQuery(bucketQuery(bucket))
  const stored = (ofVersions ?? 0) + uploadsSize
  return (
    <BucketSetting
      bucket={bucket}
      id="quota"
      needs={['admin:SetBucketQuota']}
      title={texts.bucket.quota}
      load={signal => callTagged('getBucketQuota', { params, signal })}
      save={({ document, etag }) => callTagged('setBucketQuota', { params, body: document, ...asRead(etag) })}
    >
      {({ document: { size }, etag }, change, _, errors) => (
        <>
          <BytesInput
            error={errors.size}
            label={words.size}
            description={
              <>
                {words.hint} <PartsCount bucket={bucket} sizeBytes={uploadsSize} />
              </>
            }
            value={size}
            onChange={bytes => change({ document: { type: bytes === 0 ? '' : 'hard', size: bytes }, etag })}
          />
          {size > 0 && ofVersions !== undefined && <QuotaUse usedBytes={stored} quotaBytes={size} />}
          {size > 0 && size < stored && <Alert color="orange">{words.below(formatBytes(stored))}</Alert>}
        </>
      )}
    </BucketSetting>
  )
}

function Encryption({ bucket }: { bucket: string }) {
  const load = async (signal: AbortSignal): Promise<Tagged<Encrypted>> => {
    try {
      return await callTagged('getBucketEncryption', { params: { bucket }, signal })
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return { document: { algorithm: 'none' }, etag: undefined }
      throw error
    }
  }
  return (
    <BucketSetting
      bucket={bucket}
      id="encryption"
      needs={['s3:PutEncryptionConfiguration']}
      title={texts.bucket.encryption}
      load={load}
      save={({ document, etag }) =>
        saveEncryption(bucket, document, etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag })
      }
    >
      {({ document, etag }, change, _, errors) => (
        <EncryptionInput value={document} errors={errors} onChange={value => change({ document: value, etag })} />
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
      needs={['s3:PutBucketTagging']}
      title={texts.bucket.tags}
      load={async signal => {
        const { document, etag } = await callTagged('getBucketTags', { params, signal })
        return { tags: pairsOf(document.tags), etag }
      }}
      save={({ tags, etag }) =>
        callTagged('setBucketTags', {
          params,
          body: { tags: objectOf(tags) },
          ...asRead(etag),
        })
      }
    >
      {(stored, change, _, errors) => (
        <PairsInput
          of={texts.bucket.tag}
          value={stored.tags}
          errors={errors}
          path="tags"
          onChange={tags => change({ ...stored, tags: [...tags] })}
        />
      )}
    </BucketSetting>
  )
}

function DeleteThis({ bucket }: { bucket: string }) {
  const [isOpen, { open, close }] = useDisclosure()
  const navigate = useNavigate()
  return (
    <Section title={texts.buckets.delete} hint={texts.buckets.deleteHint}>
      <Group>
        <Button
          variant="light"
          color="red"
          size="compact-sm"
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={open}
        >
          {texts.buckets.deleteNamed(bucket)}
        </Button>
      </Group>
      <Suspense>
        {isOpen && <DeleteBucket name={bucket} onDeleted={() => navigate({ to: '/buckets' })} onClose={close} />}
      </Suspense>
    </Section>
  )
}
