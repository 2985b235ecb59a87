/** What rules would delete now, stored or not. */
import { Alert, Button, List, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'
import type { LifecycleRules } from './lifecycle.tsx'

const words = texts.lifecycle

/** At the end of a dialog it would come below its edge. */
const intoView = (answer: HTMLElement | null) => answer?.scrollIntoView({ block: 'nearest' })

export interface LifecyclePreviewProps {
  readonly bucket: string
  readonly label: string
  /** Absent: those that are stored. */
  readonly draft?: LifecycleRules
}

export function LifecyclePreview({ bucket, label, draft }: LifecyclePreviewProps) {
  const preview = useMutation({
    mutationFn: () =>
      call('runBucketLifecycle', {
        params: { bucket },
        body: { dryRun: true, ...(draft !== undefined && { draft: { rules: draft } }) },
      }),
  })
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
        {label}
      </Button>
      {preview.error !== null && <ProblemAlert error={preview.error} />}
      {preview.data !== undefined && (
        <Alert
          ref={intoView}
          color={preview.data.deleted + preview.data.deleteMarkers > 0 ? 'orange' : 'gray'}
          role="status"
        >
          <List size="sm">
            {words.wouldDo(preview.data).map(effect => (
              <List.Item key={effect}>{effect}</List.Item>
            ))}
          </List>
        </Alert>
      )}
    </Stack>
  )
}
