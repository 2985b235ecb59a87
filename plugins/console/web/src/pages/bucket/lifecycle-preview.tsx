/** What rules would delete now, and at the next midnight, stored or not. */
import { Alert, Button, List, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import type { LifecycleRules } from './lifecycle.tsx'

const words = texts.lifecycle

/** At the end of a dialog it would come below its edge. */
const intoView = (answer: HTMLElement | null) => answer?.scrollIntoView({ block: 'nearest' })

const dayMs = 86_400_000

export interface LifecyclePreviewProps {
  readonly bucket: string
  readonly label: string
  /** Absent: those that are stored. */
  readonly draft?: LifecycleRules
}

export function LifecyclePreview({ bucket, label, draft }: LifecyclePreviewProps) {
  const preview = useMutation({
    async mutationFn() {
      // Rules count in days: what was written today is due at midnight, and so is what a date of the past names.
      const midnight = new Date(dayMs * Math.ceil(Date.now() / dayMs)).toISOString()
      const countAt = (at?: string) =>
        call('runBucketLifecycle', {
          params: { bucket },
          body: { dryRun: true, ...(at && { at }), ...(draft && { draft: { rules: draft } }) },
        })
      const [now, later] = await Promise.all([countAt(), countAt(midnight)])
      return { now, later, midnight }
    },
  })
  const { data } = preview
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
        {label}
      </Button>
      {preview.error !== null && <ProblemAlert error={preview.error} />}
      {data !== undefined && (
        <Alert
          ref={intoView}
          color={data.later.deleted + data.later.deleteMarkers > 0 ? 'orange' : 'gray'}
          role="status"
        >
          <Effects title={words.now} counts={data.now} />
          <Effects title={words.atMidnight(formatDate(data.midnight))} counts={data.later} />
        </Alert>
      )}
    </Stack>
  )
}

interface EffectsProps {
  readonly title: string
  readonly counts: Parameters<typeof words.wouldDo>[0]
}

function Effects({ title, counts }: EffectsProps) {
  return (
    <>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <List size="sm" mb="xs">
        {words.wouldDo(counts).map(effect => (
          <List.Item key={effect}>{effect}</List.Item>
        ))}
      </List>
    </>
  )
}
