/** Object lock of a bucket, and how long new versions are protected unless they say otherwise. */
import { Group, NativeSelect, Stack, Switch, Text } from '@mantine/core'
import { asRead, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { atField } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from './bucket-setting.tsx'

const words = texts.bucket

type Lock = Answer<'getBucketObjectLock'>
type Mode = 'none' | NonNullable<Lock['mode']>

export function ObjectLock({ bucket }: { bucket: string }) {
  const params = { bucket }
  const { ask, question } = useAskFirst()
  return (
    <>
      <BucketSetting
        bucket={bucket}
        id="object-lock"
        needs={['s3:PutBucketObjectLockConfiguration']}
        title={words.lock}
        load={signal => callTagged('getBucketObjectLock', { params, signal })}
        save={async ({ document, etag }, { document: stored }) => {
          if (bindsLonger(document, stored) && !(await ask(complianceQuestion(document)))) return 'stay'
          return callTagged('setBucketObjectLock', { params, body: document, ...asRead(etag) }).catch(error => {
            // Of a bucket that does not keep old versions.
            throw atField(error, 'conflict', '/enabled')
          })
        }}
      >
        {({ document: lock, etag }, changeTagged, { document: stored }, errors) => {
          const change = (document: Lock) => changeTagged({ document, etag })
          return (
            <Stack gap="xs">
              <Switch
                label={words.lockOn}
                description={stored.enabled ? words.lockStays : words.lockHint}
                checked={lock.enabled}
                error={errors.enabled}
                // As it is, and not as if it were off.
                aria-disabled={stored.enabled}
                className={stored.enabled ? 'fixed-switch' : undefined}
                onChange={event =>
                  !stored.enabled &&
                  change(event.currentTarget.checked ? { ...lock, enabled: true } : { enabled: false })
                }
              />
              {lock.enabled && <Retention lock={lock} errors={errors} onChange={change} />}
            </Stack>
          )
        }}
      </BucketSetting>
      {question}
    </>
  )
}

/** Whether new versions are protected from everybody, and are not yet, or not as long. */
function bindsLonger(next: Lock, stored: Lock): boolean {
  if (next.mode !== 'COMPLIANCE') return false
  if (stored.mode !== 'COMPLIANCE') return (next.days ?? next.years ?? 0) > 0
  if (next.years !== undefined && stored.years !== undefined) return next.years > stored.years
  // By the calendar: a year has 365 or 366 days.
  return (next.days ?? (next.years ?? 0) * 366) > (stored.days ?? (stored.years ?? 0) * 365)
}

const complianceQuestion = ({ days = 0, years }: Lock): AskedFirst => ({
  title: words.complianceTitle,
  action: words.complianceConfirm,
  text: (
    <Text size="sm">
      {words.complianceText(years === undefined ? words.period(days, 'days') : words.period(years, 'years'))}
    </Text>
  ),
})

interface RetentionProps {
  readonly lock: Lock
  readonly errors: Readonly<Record<string, string>>
  readonly onChange: (lock: Lock) => void
}

function Retention({ lock, errors, onChange }: RetentionProps) {
  const { enabled, mode = 'none', days, years } = lock
  const unit = years === undefined ? 'days' : 'years'
  const period = years ?? days ?? 1
  const changed = (next: { mode: Mode; unit: 'days' | 'years'; period: number }): Lock =>
    next.mode === 'none' ? { enabled } : { enabled, mode: next.mode, [next.unit]: next.period }
  return (
    <>
      <NativeSelect
        label={words.retention}
        data={Object.entries(words.retentions).map(([value, label]) => ({ value, label }))}
        value={mode}
        error={errors.mode}
        onChange={event => onChange(changed({ mode: event.currentTarget.value as Mode, unit, period }))}
      />
      {mode !== 'none' && (
        <Group align="flex-start">
          <NumberInput
            label={words.retentionPeriod}
            min={1}
            allowDecimal={false}
            required
            data-path={unit}
            value={Number.isNaN(period) ? '' : period}
            error={errors[unit]}
            // Emptied it is no number, rather than 0, into which one would go on typing.
            onChange={given => onChange(changed({ mode, unit, period: given === '' ? Number.NaN : Number(given) }))}
          />
          <NativeSelect
            label={words.retentionUnit}
            data={Object.entries(words.units).map(([value, label]) => ({ value, label }))}
            value={unit}
            onChange={event => onChange(changed({ mode, unit: event.currentTarget.value as 'days' | 'years', period }))}
          />
        </Group>
      )}
    </>
  )
}
