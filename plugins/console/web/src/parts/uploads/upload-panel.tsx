/** Uploads of this page, at its lower edge, on every page. */
import { Alert, Anchor, Button, Group, Paper, Progress, ScrollArea, Stack, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconX } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { memo, useSyncExternalStore } from 'react'
import { texts } from '../../texts/index.ts'
import { notifyFailure } from '../failure.tsx'
import { formatBytes } from '../format.ts'
import { Tool } from '../tool.tsx'
import { type Snapshot, uploadQueue } from './queue.ts'
import type { Upload } from './upload.ts'

/** More would only make the page slow: those at work and those that failed come first. */
const shownMax = 100
const order = { failed: 0, sending: 1, paused: 2, waiting: 3, done: 4, cancelled: 5 }

export function UploadPanel() {
  const snapshot = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.snapshot)
  const { uploads, interrupted, bytesPerSecond } = snapshot
  if (uploads.length + interrupted.length === 0) return null
  const shown = [...uploads].sort((a, b) => order[a.state] - order[b.state]).slice(0, shownMax)
  const ended = uploads.filter(({ state }) => state === 'done' || state === 'cancelled').length
  return (
    <Paper
      withBorder
      shadow="md"
      p="sm"
      pos="fixed"
      bottom={12}
      right={12}
      w={420}
      maw="calc(100vw - 24px)"
      style={{ zIndex: 150 }}
    >
      <Stack gap="xs" role="region" aria-label={texts.uploads.title(ended, uploads.length)}>
        {interrupted.length > 0 && <Interrupted entries={interrupted} />}
        <Group justify="space-between" wrap="nowrap">
          <Text fw={600} size="sm">
            {texts.uploads.title(ended, uploads.length)}
          </Text>
          <Group gap={4} wrap="nowrap">
            <Text size="xs" c="dimmed" className="numbers">
              {bytesPerSecond > 0 && uploadQueue.isBusy ? texts.uploads.rate(formatBytes(bytesPerSecond)) : ''}
            </Text>
            <Tool size="sm" label={texts.uploads.clear} icon={IconX} onClick={() => uploadQueue.clearEnded()} />
          </Group>
        </Group>
        <Total uploads={uploads} />
        <ScrollArea.Autosize mah={220}>
          <Stack gap={6}>
            {shown.map(upload => (
              <Row
                key={`${upload.bucket}/${upload.key}`}
                upload={upload}
                state={upload.state}
                sentBytes={upload.sentBytes}
                isCut={upload.isCut}
              />
            ))}
          </Stack>
        </ScrollArea.Autosize>
      </Stack>
    </Paper>
  )
}

/** What a reload has ended. */
function Interrupted({ entries }: { entries: Snapshot['interrupted'] }) {
  const buckets = [...new Set(entries.map(({ bucket }) => bucket))]
  return (
    <Alert color="yellow" p="xs" title={texts.uploads.interrupted(entries.length)}>
      <Stack gap={6}>
        <Text size="xs">{texts.uploads.chooseAgain}</Text>
        <Text size="xs" truncate>
          {entries
            .slice(0, 3)
            .map(({ key }) => key)
            .join(', ')}
          {entries.length > 3 && ' …'}
        </Text>
        <Group gap="xs">
          {buckets.slice(0, 3).map(bucket => (
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

function Total({ uploads }: Pick<Snapshot, 'uploads'>) {
  const live = uploads.filter(({ state }) => state !== 'cancelled')
  const all = live.reduce((sum, { file }) => sum + file.size, 0)
  const sent = live.reduce((sum, { sentBytes }) => sum + sentBytes, 0)
  return (
    <Progress value={all === 0 ? 100 : (sent / all) * 100} aria-label={`${formatBytes(sent)} / ${formatBytes(all)}`} />
  )
}

/** What an upload is now is passed along: of a folder with many files only the rows that change are drawn again. */
type RowProps = { readonly upload: Upload } & Pick<Upload, 'state' | 'sentBytes' | 'isCut'>

const Row = memo(function Row({ upload, state, sentBytes, isCut }: RowProps) {
  const { key, file, error } = upload
  const isUnderWay = state === 'sending' || state === 'waiting'
  return (
    <div>
      <Group gap={4} wrap="nowrap" justify="space-between">
        <Text size="xs" truncate title={key}>
          {key}
        </Text>
        <Group gap={2} wrap="nowrap">
          <Text
            size="xs"
            c={state === 'failed' ? 'red' : 'dimmed'}
            className="numbers"
            style={{ whiteSpace: 'nowrap' }}
          >
            {isCut
              ? texts.uploads.cut
              : state === 'sending'
                ? `${file.size === 0 ? 100 : Math.floor((sentBytes / file.size) * 100)} %`
                : state === 'failed'
                  ? texts.problems.failed
                  : texts.uploads[state]}
          </Text>
          {isUnderWay && (
            <Tool
              size="sm"
              label={`${texts.uploads.pause} ${key}`}
              icon={IconPlayerPause}
              onClick={() => uploadQueue.pause(upload)}
            />
          )}
          {state === 'paused' && (
            <Tool
              size="sm"
              label={`${texts.uploads.resume} ${key}`}
              icon={IconPlayerPlay}
              onClick={() => uploadQueue.resume(upload)}
            />
          )}
          {state === 'failed' && (
            <Tool
              size="sm"
              label={`${texts.uploads.retry} ${key}`}
              icon={IconRefresh}
              onClick={() => uploadQueue.resume(upload)}
            />
          )}
          {state !== 'done' && state !== 'cancelled' && (
            <Tool
              size="sm"
              label={`${texts.uploads.cancel} ${key}`}
              icon={IconX}
              onClick={() => uploadQueue.cancel(upload)}
            />
          )}
        </Group>
      </Group>
      {state === 'failed' && (
        <Text size="xs" c="red">
          {error instanceof Error ? error.message : String(error)}
        </Text>
      )}
    </div>
  )
})
