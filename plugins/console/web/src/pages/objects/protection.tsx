/** Retention and legal hold of one version, in buckets with object lock. */
import { Group, NativeSelect, Stack, Switch, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer, ObjectDetails } from '../../api/operations.ts'
import { atField } from '../../api/problem.ts'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from '../bucket/bucket-setting.tsx'
import { bucketQuery } from './queries.ts'

type Retention = Answer<'getObjectRetention'>

export function Protection({ bucket, details }: { bucket: string; details: ObjectDetails }) {
  const { data } = useQuery(bucketQuery(bucket))
  if (data?.objectLockEnabled !== true) return null
  const { key, versionId } = details
  const params = { bucket }
  const query = { key, versionId }
  return (
    <Stack mt="md">
      <BucketSetting
        bucket={bucket}
        id={`retention ${versionId} ${key}`}
        title={texts.objects.retention}
        load={signal => call('getObjectRetention', { params, query, signal })}
        save={(body: Retention) =>
          call('setObjectRetention', { params, query, body }).catch(error => {
            throw atField(error, 'object_locked', '/retainUntil')
          })
        }
      >
        {({ mode, retainUntil }, change, _, errors) => (
          <Group grow align="flex-end">
            <NativeSelect
              aria-label={texts.objects.retention}
              data={Object.entries(texts.objects.retentionModes).map(([value, label]) => ({ value, label }))}
              value={mode}
              error={errors.mode}
              onChange={event => {
                const chosen = event.currentTarget.value as Retention['mode']
                change({ mode: chosen, retainUntil: chosen === '' ? null : (retainUntil ?? inDays(30)) })
              }}
            />
            {mode !== '' && (
              <TextInput
                type="date"
                label={texts.objects.retainUntil}
                value={(retainUntil ?? '').slice(0, 10)}
                error={errors.retainUntil}
                required
                data-path="retainUntil"
                onChange={event => {
                  const date = event.currentTarget.value
                  change({ mode, retainUntil: date === '' ? null : `${date}T00:00:00.000Z` })
                }}
              />
            )}
          </Group>
        )}
      </BucketSetting>
      <BucketSetting
        bucket={bucket}
        id={`hold ${versionId} ${key}`}
        title={texts.objects.lock}
        load={signal => call('getObjectLegalHold', { params, query, signal })}
        save={body => call('setObjectLegalHold', { params, query, body })}
      >
        {({ enabled }, change) => (
          <Switch
            label={texts.objects.legalHold}
            checked={enabled}
            onChange={event => change({ enabled: event.currentTarget.checked })}
          />
        )}
      </BucketSetting>
    </Stack>
  )
}

function inDays(days: number): string {
  return `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`
}
