/** Uploads of this page, at its lower edge, on every page. */
import { Alert, Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core'
import { IconBan, IconPlayerPause, IconPlayerPlay, IconX } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import { texts } from '../../texts/index.ts'
import { notifyFailure } from '../failure.tsx'
import { formatBytes } from '../format.ts'
import { ProgressBar } from '../progress-bar.tsx'
import { shownText } from '../shown-text.ts'
import { Tool } from '../tool.tsx'
import type { Interruption } from './interrupted.ts'
import { type Snapshot, uploadQueue } from './queue.ts'
import { UploadRows } from './upload-rows.tsx'

export function UploadPanel() {
  const snapshot = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.snapshot)
  const { files, ended, cancelled, interrupted, bytes, sentBytes } = snapshot
  if (files === 0 && interrupted === undefined) return null
  const title = texts.uploads.title(ended - cancelled, cancelled, files)
  return (
    <Paper withBorder shadow="md" p="sm" className="upload-panel">
      <Stack gap="xs" role="region" aria-label={title}>
        {interrupted !== undefined && <Interrupted {...interrupted} />}
        {files > 0 && (
          <>
            <Group justify="space-between" wrap="nowrap">
              <Text fw={600} size="sm" truncate>
                {title}
              </Text>
              <Tools {...snapshot} />
            </Group>
            <ProgressBar
              value={bytes === 0 ? (cancelled < files ? 100 : 0) : (sentBytes / bytes) * 100}
              aria-label={`${formatBytes(sentBytes)} / ${formatBytes(bytes)}`}
              transitionDuration={0}
            />
            <Figures {...snapshot} />
            <UploadRows count={snapshot.listed} version={snapshot.version} />
          </>
        )}
      </Stack>
    </Paper>
  )
}

function Figures({ bytes, sentBytes, bytesPerSecond, failed, sending, cut }: Snapshot) {
  return (
    <Group justify="space-between" gap={4}>
      <Text size="xs" c="dimmed" className="numbers">
        {formatBytes(sentBytes)} / {formatBytes(bytes)}
        {sending > cut && bytesPerSecond > 0 && ` · ${texts.uploads.rate(formatBytes(bytesPerSecond))}`}
      </Text>
      {failed > 0 && (
        <Text size="xs" c="red" className="numbers">
          {texts.uploads.failed(failed)}
        </Text>
      )}
    </Group>
  )
}

/** Buttons for all uploads together: nobody presses one for each file of a large folder. */
function Tools({ waiting, sending, paused, failed }: Snapshot) {
  const isBusy = waiting + sending > 0
  const isHeld = paused + failed > 0
  return (
    <Group gap={2} wrap="nowrap">
      {isHeld && (
        <Tool size="sm" label={texts.uploads.resumeAll} icon={IconPlayerPlay} onClick={() => uploadQueue.resumeAll()} />
      )}
      {isBusy && (
        <Tool size="sm" label={texts.uploads.pauseAll} icon={IconPlayerPause} onClick={() => uploadQueue.pauseAll()} />
      )}
      {(isBusy || isHeld) && (
        <Tool
          size="sm"
          label={texts.uploads.cancelAll}
          icon={IconBan}
          onClick={() => void uploadQueue.cancelAll().catch(notifyFailure)}
        />
      )}
      <Tool size="sm" label={texts.uploads.clear} icon={IconX} onClick={() => uploadQueue.clearEnded()} />
    </Group>
  )
}

/** Uploads that a reload has interrupted. */
function Interrupted({ count, keys, buckets }: Interruption) {
  return (
    <Alert color="yellow" p="xs" title={texts.uploads.interrupted(count)}>
      <Stack gap={6}>
        <Text size="xs">{texts.uploads.chooseAgain}</Text>
        <Text size="xs" truncate>
          {keys.map(shownText).join(', ')}
          {count > keys.length && ' …'}
        </Text>
        <Group gap="xs">
          {buckets.map(bucket => (
            <Anchor
              key={bucket}
              size="xs"
              component={Link}
              to="/buckets/$bucket"
              {...({ params: { bucket } } as object)}
            >
              {texts.uploads.goTo(bucket)}
            </Anchor>
          ))}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => void uploadQueue.forgetInterrupted().catch(notifyFailure)}
          >
            {texts.uploads.forget}
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
