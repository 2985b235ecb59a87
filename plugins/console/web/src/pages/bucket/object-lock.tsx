/** Object lock of a bucket, and how long new versions are protected unless they say otherwise. */
import { Group, NativeSelect, Stack, Switch } from '@mantine/core'
import { asRead, call, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { atField } from '../../api/problem.ts'
import { NumberInput } from '../../parts/number-input.tsx'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from './bucket-setting.tsx'

const words = texts.bucket

type Lock = Answer<'getBucketObjectLock'>
type Mode = 'none' | NonNullable<Lock['mode']>

export function ObjectLock({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="object-lock"
      needs={['s3:PutBucketObjectLockConfiguration']}
      title={words.lock}
      load={signal => callTagged('getBucketObjectLock', { params, signal })}
      save={({ document, etag }) =>
        call('setBucketObjectLock', { params, body: document, ...asRead(etag) }).catch(error => {
          // Of a bucket that does not keep old versions.
          throw atField(error, 'conflict', '/enabled')
        })
      }
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
                !stored.enabled && change(event.currentTarget.checked ? { ...lock, enabled: true } : { enabled: false })
              }
            />
            {lock.enabled && <Retention lock={lock} errors={errors} onChange={change} />}
          </Stack>
        )
      }}
    </BucketSetting>
  )
}

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
