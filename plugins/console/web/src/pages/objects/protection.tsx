/** Retention and legal hold of one version, in buckets with object lock. */
import { Checkbox, Group, NativeSelect, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer, ObjectDetails } from '../../api/operations.ts'
import { atField } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'
import { formatDate } from '../../parts/format.ts'
import { useRights } from '../../parts/rights.ts'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from '../bucket/bucket-setting.tsx'
import { bucketQuery } from './queries.ts'

type Retention = Answer<'getObjectRetention'> & { readonly bypassGovernance: boolean }

export const mayBypass = 's3:BypassGovernanceRetention'

/** What protects a version now, and who may do something about it; undefined where nothing does. */
export function protectionText({ mode, retainUntil }: Answer<'getObjectRetention'>): string | undefined {
  if (mode === '' || retainUntil === null || new Date(retainUntil).getTime() <= Date.now()) return undefined
  const until = formatDate(retainUntil)
  return mode === 'GOVERNANCE' ? texts.objects.governance(until) : texts.objects.compliance(until)
}

/** Whether `next` protects the version from everybody, and what is stored does not do so as long. */
function bindsLonger(next: Retention, stored: Retention): boolean {
  const isBound = stored.mode === 'COMPLIANCE' && protectionText(stored) !== undefined
  return (
    next.mode === 'COMPLIANCE' &&
    protectionText(next) !== undefined &&
    !(isBound && Date.parse(next.retainUntil ?? '') <= Date.parse(stored.retainUntil ?? ''))
  )
}

export function Protection({ bucket, details }: { bucket: string; details: ObjectDetails }) {
  const { data } = useQuery(bucketQuery(bucket))
  const isFree = useRights(bucket, details.key).has(mayBypass)
  const { ask, question } = useAskFirst()
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
        load={async signal => ({
          ...(await call('getObjectRetention', { params, query, signal })),
          bypassGovernance: false,
        })}
        save={async (body: Retention, stored): Promise<'stay' | undefined> => {
          if (bindsLonger(body, stored) && !(await ask(complianceQuestion(body)))) return 'stay'
          await call('setObjectRetention', { params, query, body }).catch(error => {
            throw atField(error, 'object_locked', '/retainUntil')
          })
          return undefined
        }}
      >
        {(retention, change, stored, errors) => {
          const { mode, retainUntil } = retention
          const isGoverned = stored.mode === 'GOVERNANCE' && protectionText(stored) !== undefined
          return (
            <Stack gap="xs">
              <Group grow align="flex-end">
                <NativeSelect
                  aria-label={texts.objects.retention}
                  data={Object.entries(texts.objects.retentionModes).map(([value, label]) => ({ value, label }))}
                  value={mode}
                  error={errors.mode}
                  onChange={event => {
                    const chosen = event.currentTarget.value as Retention['mode']
                    change({
                      ...retention,
                      mode: chosen,
                      retainUntil: chosen === '' ? null : (retainUntil ?? inDays(30)),
                    })
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
                      change({ ...retention, retainUntil: date === '' ? null : `${date}T00:00:00.000Z` })
                    }}
                  />
                )}
              </Group>
              <Text size="sm" c="dimmed">
                {protectionText(stored)}
              </Text>
              {isGoverned && isFree && (
                <Checkbox
                  label={texts.objects.mayBypass}
                  description={texts.objects.mayBypassHint}
                  checked={retention.bypassGovernance}
                  onChange={event => change({ ...retention, bypassGovernance: event.currentTarget.checked })}
                />
              )}
            </Stack>
          )
        }}
      </BucketSetting>
      <BucketSetting
        bucket={bucket}
        id={`hold ${versionId} ${key}`}
        title={texts.objects.lock}
        load={signal => call('getObjectLegalHold', { params, query, signal })}
        save={async body => void (await call('setObjectLegalHold', { params, query, body }))}
      >
        {({ enabled }, change) => (
          <Switch
            label={texts.objects.legalHold}
            checked={enabled}
            onChange={event => change({ enabled: event.currentTarget.checked })}
          />
        )}
      </BucketSetting>
      {question}
    </Stack>
  )
}

const complianceQuestion = ({ retainUntil }: Retention): AskedFirst => ({
  title: texts.objects.complianceTitle,
  action: texts.objects.complianceConfirm,
  text: <Text size="sm">{texts.objects.complianceText(formatDate(retainUntil ?? ''))}</Text>,
})

function inDays(days: number): string {
  return `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`
}
