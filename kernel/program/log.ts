/**
 * Logging: pino's logger, with the plugin's name in the field `plugin`. Lines go to stderr through the main thread alone, so
 * that lines of several threads never mix, and are written asynchronously so that a slow reader does not stop the server.
 */
import { createRequire } from 'node:module'
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino'
import type { prettyFactory as PrettyFactory } from 'pino-pretty'
import type { LogFormat, Logger, LogLevel } from '../log.ts'

/** Where finished lines go. */
export interface LogSink extends DestinationStream {
  /** From the next line on. Where lines are passed on as they are there is nothing to change. */
  setFormat(format: LogFormat): void
  /** Calls with each line as it is written, as JSON. Only where lines of all threads come together; returns the function that ends it. */
  watch?(listener: (line: string) => void): () => void
  /** Resolves when everything written so far has left the process. */
  flush(): Promise<void>
  /** Writes all lines at once and synchronously, at the end of a process that has failed. They can overtake those whose write is under way. */
  flushSync(): void
}

/** Maximum size of lines that wait for the reader of stderr; beyond it new lines are dropped. In bytes. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/** Maximum size of the lines that are written together, in characters. */
const GATHERED_LENGTH_MAX = 64 * 1024

/** How long the end of a process waits for the reader of stderr. In milliseconds. */
const LAST_LINES_MS = 1000

/** Lines that follow others sooner than this are written together. In milliseconds. */
const GATHER_MS = 10

/** The loggers of each sink: pino keeps the level in each of them. Plugins create and drop them. */
const loggersOf = new WeakMap<DestinationStream, WeakRef<Logger>[]>()

/** A logger whose lines have `level` as a word, `time` in ISO 8601 and `msg`; no other properties of the process. */
export function createLogger(level: LogLevel | 'silent', sink: DestinationStream): Logger {
  const loggers: WeakRef<Logger>[] = []
  loggersOf.set(sink, loggers)
  const note = (logger: Logger) => loggers.push(new WeakRef(logger))
  const formatters = { level: (label: string) => ({ level: label }) }
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters, onChild: note }
  const logger = pino(options, sink)
  note(logger)
  return logger
}

/** Sets the least level of every logger that writes to this sink, those among them that were made of others. */
export function setLogLevel(sink: DestinationStream, level: LogLevel): void {
  for (const reference of loggersOf.get(sink) ?? []) {
    const logger = reference.deref()
    if (logger !== undefined) logger.level = level
  }
}

/** The process's stderr. In `text` format for people, in `json` format one object per line. */
export function createStderrSink(format: LogFormat): LogSink {
  let giveUpMs = Number.POSITIVE_INFINITY
  const retryEAGAIN = () => performance.now() < giveUpMs
  // With a least length of zero `flush` would not wait for the write that is under way.
  const stderr = destination({ fd: 2, sync: false, minLength: 1, maxLength: WAITING_BYTES_MAX, retryEAGAIN })
  // There is no way to report that the log's reader has gone; the server continues without it.
  stderr.on('error', () => {})
  const prettyFor = (wanted: LogFormat) =>
    wanted === 'text' ? loadPrettyFactory()({ colorize: false, singleLine: true }) : undefined
  let pretty = prettyFor(format)
  const watchers = new Set<(line: string) => void>()
  const gathered = gatherLines(lines => stderr.write(lines.join('')))
  const flushSync = () => {
    giveUpMs = Math.min(giveUpMs, performance.now() + LAST_LINES_MS)
    try {
      gathered.handOver()
      stderr.flushSync()
    } catch {
      // The process is about to end and its log cannot be written: there is no third way out.
    }
  }
  let hasEnded = false
  atExit(() => {
    hasEnded = true
    flushSync()
  })
  return {
    setFormat(wanted) {
      if ((wanted === 'text') !== (pretty !== undefined)) pretty = prettyFor(wanted)
    },
    write(line) {
      for (const watcher of watchers) watcher(line)
      gathered.add(pretty === undefined ? line : (pretty(inOneLine(line)) ?? line), isUrgent(line))
      if (hasEnded) flushSync()
    },
    watch(listener) {
      watchers.add(listener)
      return () => watchers.delete(listener)
    },
    flush: () => {
      gathered.handOver()
      return new Promise(resolve => stderr.flush(() => resolve()))
    },
    flushSync,
  }
}

/** Expected errors with a message for people need no stack: the sentence is sufficient. */
function inOneLine(line: string): string | object {
  if (!line.includes('"err":{"type":"CatalogError"')) return line
  const { err, msg, ...facts } = JSON.parse(line) as { err: { message: string }; msg: string }
  return { ...facts, msg: `${msg}: ${err.message}` }
}

/** Loaded only where it is wanted: every thread would pay for it at its start. */
function loadPrettyFactory(): typeof PrettyFactory {
  return createRequire(import.meta.url)('pino-pretty').prettyFactory
}

/** The log of worker threads: `send` gets lines that were gathered. */
export function createRelaySink(send: (lines: readonly string[]) => void): LogSink {
  const { add, handOver } = gatherLines(send)
  atExit(handOver)
  return {
    write: line => add(line, isUrgent(line)),
    flushSync: handOver,
    setFormat() {},
    flush: async () => handOver(),
  }
}

let exitHooks: (() => void)[] | undefined

/** One listener for all, because the number of those of a process is watched; before that of the library, which would wait for ever. */
function atExit(hook: () => void): void {
  if (exitHooks === undefined) {
    const hooks: (() => void)[] = []
    exitHooks = hooks
    process.prependListener('exit', () => {
      for (const each of hooks) each()
    })
  }
  exitHooks.push(hook)
}

/** Warnings and errors do not wait for later lines: the thread may be about to end. */
function isUrgent(line: string): boolean {
  return /^\{"level":"(?:warn|error|fatal)"/.test(line)
}

/**
 * Gathers lines that are passed on together: those of one turn of the event loop while few are written or one is urgent, and those of `GATHER_MS` after
 * that. Each write wakes another thread, which costs more than all else about a line. A thread that is killed loses lines that wait.
 */
function gatherLines(take: (lines: readonly string[]) => void) {
  let lines: string[] = []
  let length = 0
  /** Lines were passed on within the last `GATHER_MS`: the timer passes on those that have come since. */
  let isPausing = false
  const handOver = () => {
    const batch = lines
    lines = []
    length = 0
    if (batch.length > 0) take(batch)
  }
  const endTurn = () => {
    if (isPausing || lines.length === 0) return
    handOver()
    isPausing = true
    setTimeout(endPause, GATHER_MS)
  }
  const endPause = () => {
    isPausing = false
    endTurn()
  }
  const add = (line: string, isNow: boolean) => {
    const isFirst = lines.push(line) === 1
    if (isNow) setImmediate(handOver)
    else if (isFirst && !isPausing) setImmediate(endTurn)
    length += line.length
    if (length > GATHERED_LENGTH_MAX) handOver()
  }
  return { add, handOver }
}
