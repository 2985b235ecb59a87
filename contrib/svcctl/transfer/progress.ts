/** One line on a terminal: amount, total, rate and remaining time. */
import type { Options, SingleBar } from 'cli-progress'
import { formatBytes, formatSeconds } from '../formatting.ts'
import type { Io } from '../io.ts'

export interface Progress {
  addTotal(byteCount: number, fileCount: number): void
  addBytes(byteCount: number): void
  addFile(): void
  /** Removes the line, so that other output can be written; it returns with the next change. */
  clear(): void
  stop(): void
}

const intervalMs = 100
/** Short transfers show nothing. */
const delayMs = 700
/** The rate of the last seconds, not of the whole. */
const windowMs = 5000

export const noProgress: Progress = { addTotal() {}, addBytes() {}, addFile() {}, clear() {}, stop() {} }

export function createProgress(io: Io, isShown: boolean): Progress {
  if (!isShown) return noProgress
  let totalBytes = 0
  let byteCount = 0
  let totalFiles = 0
  let fileCount = 0
  let bar: SingleBar | undefined
  let Bar: typeof SingleBar | undefined
  const loading = import('./bar.ts').then(module => {
    Bar = module.SingleBar
  })
  loading.catch(() => undefined) // Then there is none: the transfer matters more.
  const startedMs = performance.now()
  const samples: { readonly ms: number; readonly bytes: number }[] = [{ ms: startedMs, bytes: 0 }]

  function payload() {
    const nowMs = performance.now()
    samples.push({ ms: nowMs, bytes: byteCount })
    while (samples.length > 2 && nowMs - samples[0]!.ms > windowMs) samples.shift()
    const first = samples[0]!
    const rate = ((byteCount - first.bytes) / Math.max(nowMs - first.ms, 1)) * 1000
    return {
      done: formatBytes(byteCount),
      all: formatBytes(totalBytes),
      rate: `${formatBytes(rate)}/s`,
      left: rate > 0 && totalBytes > byteCount ? formatSeconds((totalBytes - byteCount) / rate) : '-',
      files: totalFiles > 1 ? `  ${fileCount}/${totalFiles} files` : '',
    }
  }

  const options: Options = {
    format: '{bar} {percentage}%  {done} of {all}  {rate}  {left} left{files}',
    stream: io.stderr as NodeJS.WritableStream,
    hideCursor: true,
    clearOnComplete: true,
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    fps: 10,
    gracefulExit: false,
  }
  const timer = setInterval(() => {
    if (bar === undefined) {
      if (Bar === undefined || performance.now() - startedMs < delayMs) return
      bar = new Bar(options)
      bar.start(Math.max(totalBytes, 1), byteCount, payload())
    }
    bar.setTotal(Math.max(totalBytes, 1))
    bar.update(byteCount, payload())
  }, intervalMs)
  timer.unref()

  const clear = () => {
    bar?.stop()
    bar = undefined
  }
  return {
    addTotal(bytes, files) {
      totalBytes += bytes
      totalFiles += files
    },
    addBytes(count) {
      byteCount += count
    },
    addFile() {
      fileCount++
    },
    clear,
    stop() {
      clearInterval(timer)
      clear()
    },
  }
}

/** Progress of waiting for one answer: the share of the expected time that is over. */
export function createWait(io: Io, isShown: boolean, expectedMs: number): Progress {
  if (!isShown) return noProgress
  const startedMs = performance.now()
  const barChars = 24
  let hasLine = false
  const clear = () => {
    if (hasLine) io.stderr.write('\r\u001b[2K')
    hasLine = false
  }
  const timer = setInterval(() => {
    const passedMs = performance.now() - startedMs
    if (passedMs < delayMs) return
    const filled = Math.min(Math.floor((passedMs / expectedMs) * barChars), barChars)
    const bar = '█'.repeat(filled) + '░'.repeat(barChars - filled)
    clear()
    io.stderr.write(`${bar} ${formatSeconds(passedMs / 1000)} of about ${formatSeconds(expectedMs / 1000)}`)
    hasLine = true
  }, intervalMs)
  timer.unref()
  return {
    ...noProgress,
    clear,
    stop() {
      clearInterval(timer)
      clear()
    },
  }
}

/** The progress of a listing, whose total is unknown. */
export function createCount(io: Io, isShown: boolean): Progress {
  if (!isShown) return noProgress
  let count = 0
  let hasLine = false
  let tickCount = 0
  const clear = () => {
    if (hasLine) io.stderr.write('\r\u001b[2K')
    hasLine = false
  }
  const timer = setInterval(() => {
    if (++tickCount * intervalMs < delayMs) return
    clear()
    io.stderr.write(`${count} seen`)
    hasLine = true
  }, intervalMs)
  timer.unref()
  return {
    ...noProgress,
    addFile() {
      count++
    },
    clear,
    stop() {
      clearInterval(timer)
      clear()
    },
  }
}
