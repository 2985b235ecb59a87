/** The uploads of the panel, of which only those in view are drawn. */

import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { Problem, wordsOf } from '../../api/problem.ts'
import { bucketContent } from '../../texts/bucket-content.ts'
import { texts } from '../../texts/index.ts'
import { formatBytes } from '../format.ts'
import { Name } from '../name.tsx'
import { PartsCount } from '../quota-use.tsx'
import { useRights } from '../rights.ts'
import { shownText } from '../shown-text.ts'
import { Tool } from '../tool.tsx'
import { type Ended, uploadQueue } from './queue.ts'
import { type Anew, Upload } from './upload.ts'

/** As high as its buttons: larger ones for fingers, as in styles.css. */
const rowHeight = matchMedia('(pointer: coarse)').matches ? 40 : 28
const rowsShown = 8
/** Below this size the rate of a file means nothing. */
const rateBytesMin = 4 * 1024 ** 2

export interface UploadRowsProps {
  readonly count: number
  /** How many of them have failed: these come first. */
  readonly failed: number
  /** Of the queue, so that what is shown is what is in it now. */
  readonly version: number
}

export function UploadRows({ count, failed }: UploadRowsProps) {
  const view = useRef<HTMLDivElement>(null)
  // Why they have failed takes several lines: all have the room that the longest reason in view needs.
  const [failedHeight, setFailedHeight] = useState(rowHeight)
  if (failed === 0 && failedHeight !== rowHeight) setFailedHeight(rowHeight)
  const makeRoom = useCallback((height: number) => setFailedHeight(room => Math.max(room, height)), [])
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => view.current,
    estimateSize: index => (index < failed ? failedHeight : rowHeight),
    overscan: 2,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the heights depend on
  useLayoutEffect(() => virtual.measure(), [virtual, failed, failedHeight])
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const rows = uploadQueue.rows(first, (items.at(-1)?.index ?? -1) + 1)
  return (
    <div
      ref={view}
      className="upload-rows"
      style={{ height: Math.min(virtual.getTotalSize(), rowHeight * rowsShown) }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be within reach of the keyboard
      tabIndex={0}
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map(({ index, start, size }) => {
          const row = rows[index - first]
          return (
            <div key={keyOf(row)} className="upload-place" style={{ top: start, height: size }}>
              <Row row={row} makeRoom={makeRoom} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** What somebody presses, or has the focus on, is of one upload, wherever it moves in the list. */
function keyOf(row: Upload | Ended | undefined): number | undefined {
  if (row === undefined) return undefined
  const known = keys.get(row)
  if (known !== undefined) return known
  keys.set(row, ++keyLast)
  return keyLast
}

const keys = new WeakMap<Upload | Ended, number>()
let keyLast = 0

type MakeRoom = (height: number) => void

function Row({ row, makeRoom }: { readonly row: Upload | Ended | undefined; readonly makeRoom: MakeRoom }) {
  if (row === undefined) return null
  if (!(row instanceof Upload)) return <EndedRow row={row} />
  return (
    <OpenRow
      upload={row}
      state={row.state}
      isEnding={row.isEnding}
      sentBytes={row.sentBytes}
      isCut={row.isCut}
      isSilent={row.isSilent}
      anew={row.anew}
      makeRoom={makeRoom}
    />
  )
}

const EndedRow = memo(function EndedRow({ row: { key, state, anew } }: { readonly row: Ended }) {
  const words = withReason(texts.uploads[state], anew)
  return (
    <div className="upload-row" style={{ minHeight: rowHeight }}>
      <span className="upload-name" title={shownText(key)}>
        <Name>{key}</Name>
      </span>
      <span className="upload-state" title={words}>
        {words}
      </span>
    </div>
  )
})

/** The current state is passed as properties, so that only rows that change are drawn again. */
type OpenRowProps = { readonly upload: Upload; readonly makeRoom: MakeRoom } & Pick<
  Upload,
  'state' | 'isEnding' | 'sentBytes' | 'isCut' | 'isSilent' | 'anew'
>

const OpenRow = memo(function OpenRow({ upload, state, isEnding, isCut, isSilent, anew, makeRoom }: OpenRowProps) {
  const { key, bucket } = upload
  const isFailed = state === 'failed'
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = row.current
    if (!isFailed || element === null) return
    const observer = new ResizeObserver(() => makeRoom(element.offsetHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [isFailed, makeRoom])
  const isUnderWay = state === 'sending' || state === 'waiting'
  const progress = isEnding
    ? texts.uploads.ending
    : isCut
      ? texts.uploads.cut
      : isSilent
        ? texts.uploads.silent
        : state === 'sending'
          ? progressOf(upload)
          : outcomeOf(upload)
  const words = withReason(progress, anew)
  return (
    <div ref={row} className="upload-row" data-failed={isFailed || undefined} style={{ minHeight: rowHeight }}>
      <span className="upload-name" title={shownText(key)}>
        <Name>{key}</Name>
      </span>
      <span className="upload-state numbers" {...(!isFailed && { title: words })}>
        {words}
        {isFailed && isOverQuota(upload) && <QuotaParts bucket={bucket} />}
      </span>
      {/* One button, which keeps the focus. */}
      {(isUnderWay || state === 'paused') && (
        <Tool
          size="sm"
          label={`${isUnderWay ? texts.uploads.pause : texts.uploads.resume} ${shownText(key)}`}
          icon={isUnderWay ? IconPlayerPause : IconPlayerPlay}
          onClick={() => (isUnderWay ? uploadQueue.pause(upload) : uploadQueue.resume(upload))}
        />
      )}
      {isFailed && (
        <Tool
          size="sm"
          label={`${texts.uploads.retry} ${shownText(key)}`}
          icon={IconRefresh}
          onClick={() => uploadQueue.resume(upload)}
        />
      )}
      <Tool
        size="sm"
        label={`${texts.uploads.cancel} ${shownText(key)}`}
        icon={IconX}
        onClick={() => void uploadQueue.cancel(upload)}
      />
    </div>
  )
})

/** What the user did not ask for is said, also when it is over. */
function withReason(words: string, anew: Anew | undefined): string {
  return anew === undefined ? words : `${words} · ${texts.uploads.begunAnew[anew]}`
}

function progressOf(upload: Upload): string {
  const { sizeBytes, sentBytes } = upload
  if (sentBytes >= sizeBytes && sizeBytes >= rateBytesMin) return texts.uploads.checked
  const percent = `${sizeBytes === 0 ? 100 : Math.floor((sentBytes / sizeBytes) * 100)} %`
  if (sizeBytes < rateBytesMin) return percent
  const rate = upload.bytesPerSecond
  return rate > 0 ? `${texts.uploads.rate(formatBytes(rate))} · ${percent}` : percent
}

const isOverQuota = ({ error }: Upload) => error instanceof Problem && error.code === 'quota_exceeded'

/** Whoever looks for what takes the space does not find it among the objects. */
function QuotaParts({ bucket }: { readonly bucket: string }) {
  const { data } = useQuery({
    queryKey: ['bucket', bucket],
    queryFn: ({ signal }) => call('getBucket', { params: { bucket }, signal }),
    enabled: useRights(bucket).has('s3:ListBucket'),
    staleTime: 0,
  })
  const sizeBytes = data?.uploadsSize ?? 0
  if (sizeBytes === 0) return null
  return (
    <>
      . <PartsCount bucket={bucket} sizeBytes={sizeBytes} />
    </>
  )
}

function outcomeOf(upload: Upload): string {
  const { state, error, uploadId } = upload
  // The server says that nothing was stored: that is so of a file in one request.
  const noRoom = error instanceof Problem && uploadId !== undefined ? texts.uploads.noRoom[error.code] : undefined
  if (state === 'failed' && noRoom !== undefined) return noRoom
  if (state === 'failed') return isOverQuota(upload) ? bucketContent.quota.over : shownText(wordsOf(error))
  return state === 'sending' ? '' : texts.uploads[state]
}
