/** Uploads of this page, at its lower edge, on every page. */
import { Alert, Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core'
import { IconBan, IconChevronDown, IconChevronUp, IconPlayerPause, IconPlayerPlay, IconX } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { texts } from '../../texts/index.ts'
import { notifyFailure } from '../failure.tsx'
import { formatBytes } from '../format.ts'
import { ProgressBar } from '../progress-bar.tsx'
import { shownText } from '../shown-text.ts'
import { Tool } from '../tool.tsx'
import type { Interruption } from './interrupted.ts'
import { type Snapshot, uploadQueue } from './queue.ts'
import { UploadRows } from './upload-rows.tsx'

const gapPx = 12

/** Whether only the sum is shown: kept when the panel goes and comes. On a phone the list would fill the window. */
let isFoldedNow = matchMedia('(max-width: 48em)').matches

export function UploadPanel() {
  const snapshot = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.snapshot)
  const [isFoldedByUser, setFolded] = useState(isFoldedNow)
  const [isOpenedAfter, setOpenedAfter] = useState(false)
  const panel = useRef<HTMLDivElement>(null)
  useRoomFor(panel)
  const { files, ended, cancelled, hasBegunAnew, interrupted, bytes, sentBytes } = snapshot
  // Of what is over the sum is enough: the list would cover the page.
  const isOver = files > 0 && ended === files && !hasBegunAnew && interrupted === undefined
  if (!isOver && isOpenedAfter) setOpenedAfter(false)
  const isFolded = isOver ? !isOpenedAfter : isFoldedByUser
  if (files === 0 && interrupted === undefined) return null
  const title = files > 0 ? texts.uploads.title(ended - cancelled, cancelled, files) : interruptedWords(interrupted)
  const fold = () => {
    if (isOver) return setOpenedAfter(isFolded)
    isFoldedNow = !isFolded
    setFolded(isFoldedNow)
  }
  return (
    <Paper ref={panel} withBorder shadow="md" p="sm" className="upload-panel">
      <Stack gap="xs" role="region" aria-label={title}>
        <Group justify="space-between" wrap="nowrap">
          <Text fw={600} size="sm" truncate>
            {title}
          </Text>
          <Group gap={2} wrap="nowrap">
            {files > 0 && <Tools {...snapshot} />}
            <Tool
              size="sm"
              label={isFolded ? texts.uploads.unfold : texts.uploads.fold}
              icon={isFolded ? IconChevronUp : IconChevronDown}
              onClick={fold}
            />
          </Group>
        </Group>
        {interrupted !== undefined && !isFolded && <Interrupted {...interrupted} hasTitle={files > 0} />}
        {files > 0 && (
          <>
            <ProgressBar
              value={bytes === 0 ? (cancelled < files ? 100 : 0) : (sentBytes / bytes) * 100}
              aria-label={`${formatBytes(sentBytes)} / ${formatBytes(bytes)}`}
              transitionDuration={0}
            />
            <Figures {...snapshot} />
            {!isFolded && <UploadRows count={snapshot.listed} failed={snapshot.failed} version={snapshot.version} />}
          </>
        )}
      </Stack>
    </Paper>
  )
}

const interruptedWords = (interrupted: Interruption | undefined) => texts.uploads.interrupted(interrupted?.count ?? 0)

/** The page has so much room at its end that nothing of it stays below the panel. */
function useRoomFor(panel: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const { style } = document.documentElement
    const element = panel.current
    if (element === null) return
    const observer = new ResizeObserver(() => {
      style.setProperty('--uploads-height', `${element.offsetHeight + 2 * gapPx}px`)
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      style.removeProperty('--uploads-height')
    }
  }, [panel])
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
function Interrupted({ count, keys, buckets, hasTitle }: Interruption & { readonly hasTitle: boolean }) {
  return (
    <Alert color="yellow" p="xs" {...(hasTitle && { title: texts.uploads.interrupted(count) })}>
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
