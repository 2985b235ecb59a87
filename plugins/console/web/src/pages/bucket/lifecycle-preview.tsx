/** What rules would have deleted now, at the next midnight, and when all that exists is old enough; stored or not. */
import { Alert, Button, List, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { call } from '../../api/client.ts'
import { useUnsaid } from '../../parts/beside-fields.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { useRights } from '../../parts/rights.ts'
import { lifecycleTexts } from '../../texts/lifecycle.ts'
import { bucketQuery } from '../objects/queries.ts'
import type { LifecycleRules } from './lifecycle.tsx'

const words = lifecycleTexts

/** At the end of a dialog it would come below its edge. */
const intoView = (answer: HTMLElement | null) => answer?.scrollIntoView({ block: 'nearest' })

const dayMs = 86_400_000
/** The last that a date of the server can name. */
const lastDayMs = Date.UTC(9999, 11, 31)

export interface LifecyclePreviewProps {
  readonly bucket: string
  readonly label: string
  /** Throws what is wrong with them. */
  readonly rulesOf: () => LifecycleRules
  /** Whether the rules are not stored. */
  readonly isDraft?: boolean
  /** Gets the failure, for what is around to say what is wrong with the rules. Not called where this is drawn no more: rules are others by then. */
  readonly onRefused?: (error: unknown) => void
  /** Whether it says all of it, other than at the fields of a form. */
  readonly isRefusalSaid?: boolean
}

export function LifecyclePreview(props: LifecyclePreviewProps) {
  const { bucket, label, rulesOf, isDraft = false, onRefused, isRefusalSaid = false } = props
  const rights = useRights(bucket)
  const { data: about } = useQuery(bucketQuery(bucket))
  const preview = useMutation({
    async mutationFn() {
      const rules = rulesOf()
      const times = timesOf(rules, Date.now())
      const effects = times.map(async ({ title, at }) => {
        const draft = isDraft && { draft: { rules } }
        const body = { dryRun: true, ...(at !== undefined && { at }), ...draft }
        return { title, counts: await call('runBucketLifecycle', { params: { bucket }, body }) }
      })
      return Promise.all(effects)
    },
  })
  const form = useRef<HTMLElement | null>(null)
  const unsaid = useUnsaid(form, preview.error)
  const { data } = preview
  if (!rights.has('s3:ListBucketVersions')) return null
  return (
    <Stack
      gap="xs"
      align="flex-start"
      ref={(drawn: HTMLElement | null) => {
        form.current = drawn?.closest('form') ?? null
      }}
    >
      <Button
        variant="default"
        loading={preview.isPending}
        onClick={() => preview.mutate(undefined, { onError: onRefused })}
      >
        {label}
      </Button>
      {preview.error !== null && unsaid !== null && !isRefusalSaid && <ProblemAlert error={unsaid} />}
      {data !== undefined && (
        <Alert
          ref={intoView}
          color={data.some(({ counts }) => counts.deleted + counts.deleteMarkers > 0) ? 'orange' : 'gray'}
          role="status"
        >
          {data.map(effects => (
            <Effects key={effects.title} keepsVersions={about?.versioning !== 'off'} {...effects} />
          ))}
        </Alert>
      )}
    </Stack>
  )
}

/** Rules count in days of UTC, so that what was written today is due at a midnight only. */
function timesOf(rules: LifecycleRules, nowMs: number): { readonly title: string; readonly at?: string }[] {
  const midnightMs = dayMs * (Math.floor(nowMs / dayMs) + 1)
  const midnight = new Date(midnightMs).toISOString()
  const last = new Date(lastDueMs(rules, midnightMs)).toISOString()
  return [
    { title: words.now },
    { title: words.atMidnight(formatDate(midnight)), at: midnight },
    ...(last > midnight ? [{ title: words.whenAllIsOld(formatDate(last)), at: last }] : []),
  ]
}

/** When the rules have done all that they do to what exists before this midnight. */
function lastDueMs(rules: LifecycleRules, midnightMs: number): number {
  const inForce = rules.filter(({ enabled }) => enabled)
  /** An age is counted from the midnight after it began. */
  const after = (startMs: number, days: readonly (number | undefined)[]) =>
    days.filter(count => count !== undefined).map(count => startMs + count * dayMs)
  const oldDays = inForce.map(rule => rule.noncurrentExpiration?.noncurrentDays)
  const uploadDays = inForce.map(rule => rule.abortIncompleteUpload?.daysAfterInitiation)
  const deletedMs = inForce.flatMap(({ expiration }) => [
    ...after(midnightMs, [expiration?.days]),
    ...(expiration?.date === undefined ? [] : [Math.max(midnightMs, Date.parse(expiration.date))]),
  ])
  // What is deleted last is an old version from then on, and that goes for good later.
  const oldMs = deletedMs.length === 0 ? [] : after(Math.max(...deletedMs) + dayMs, oldDays)
  const dueMs = [midnightMs, ...deletedMs, ...oldMs, ...after(midnightMs, [...oldDays, ...uploadDays])]
  // The server says what is wrong with a date that is none.
  return Math.min(lastDayMs, Math.max(...dueMs.filter(Number.isFinite)))
}

interface EffectsProps {
  readonly title: string
  readonly counts: Parameters<typeof words.wouldDo>[0]
  readonly keepsVersions: boolean
}

function Effects({ title, counts, keepsVersions }: EffectsProps) {
  return (
    <>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <List size="sm" mb="xs">
        {words.wouldDo(counts, keepsVersions).map(effect => (
          <List.Item key={effect}>{effect}</List.Item>
        ))}
      </List>
    </>
  )
}
