/** The uploads of the panel, of which only those in view are drawn. */

import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconX } from '@tabler/icons-react'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useRef } from 'react'
import { Problem, wordsOf } from '../../api/problem.ts'
import { texts } from '../../texts/index.ts'
import { formatBytes } from '../format.ts'
import { Name } from '../name.tsx'
import { shownText } from '../shown-text.ts'
import { Tool } from '../tool.tsx'
import { type Ended, uploadQueue } from './queue.ts'
import { type Anew, Upload } from './upload.ts'

/** As high as its buttons: larger ones for fingers, as in styles.css. */
const rowHeight = matchMedia('(pointer: coarse)').matches ? 40 : 28
const rowsShown = 8
/** Below this size the rate of a file means nothing. */
const rateBytesMin = 4 * 1024 ** 2

/** `version`: of the queue, so that what is shown is what is in it now. */
export function UploadRows({ count }: { readonly count: number; readonly version: number }) {
  const view = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 2,
  })
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const rows = uploadQueue.rows(first, (items.at(-1)?.index ?? -1) + 1)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be within reach of the keyboard
    <div ref={view} className="upload-rows" style={{ height: rowHeight * Math.min(count, rowsShown) }} tabIndex={0}>
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map(({ index, start, size }) => {
          const row = rows[index - first]
          return (
            <div key={keyOf(row)} className="upload-row" style={{ top: start, height: size }}>
              <Row row={row} />
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

function Row({ row }: { readonly row: Upload | Ended | undefined }) {
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
    />
  )
}

const EndedRow = memo(function EndedRow({ row: { key, state, anew } }: { readonly row: Ended }) {
  const words = withReason(texts.uploads[state], anew)
  return (
    <>
      <span className="upload-name" title={shownText(key)}>
        <Name>{key}</Name>
      </span>
      <span className="upload-state" title={words}>
        {words}
      </span>
    </>
  )
})

/** The current state is passed as properties, so that only rows that change are drawn again. */
type OpenRowProps = { readonly upload: Upload } & Pick<
  Upload,
  'state' | 'isEnding' | 'sentBytes' | 'isCut' | 'isSilent' | 'anew'
>

const OpenRow = memo(function OpenRow({ upload, state, isEnding, isCut, isSilent, anew }: OpenRowProps) {
  const { key } = upload
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
    <>
      <span className="upload-name" title={shownText(key)}>
        <Name>{key}</Name>
      </span>
      <span className="upload-state numbers" data-failed={state === 'failed' || undefined} title={words}>
        {words}
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
      {state === 'failed' && (
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
    </>
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

function outcomeOf({ state, error, uploadId }: Upload): string {
  // The server says that nothing was stored: that is so of a file in one request.
  const noRoom = error instanceof Problem && uploadId !== undefined ? texts.uploads.noRoom[error.code] : undefined
  if (state === 'failed' && noRoom !== undefined) return noRoom
  if (state === 'failed') return shownText(wordsOf(error))
  return state === 'sending' ? '' : texts.uploads[state]
}
