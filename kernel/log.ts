/**
 * Logging: pino's logger, with the plugin's name in the field `plugin`. Lines go to stderr through the main thread alone, so
 * that lines of several threads never mix, and are written asynchronously so that a slow reader does not stop the server.
 */
import { createRequire } from 'node:module'
import { type DestinationStream, destination, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import type { prettyFactory as PrettyFactory } from 'pino-pretty'

export type Logger = PinoLogger

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'json' | 'text'

/** Where finished lines go. */
export interface LogSink extends DestinationStream {
  /** Resolves when everything written so far has left the process. */
  flush(): Promise<void>
  /** The same at once, for the last breath of a process that has failed. */
  flushSync(): void
}

/** Lines that wait while nobody reads stderr; beyond it new lines are lost rather than memory. In bytes. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/** A logger whose lines carry `level` as a word, `time` in ISO 8601 and `msg`; nothing else of the process. */
export function createLogger(level: LogLevel | 'silent', sink: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, sink)
}

/** The process's stderr. In `text` format for people, in `json` format one object per line. */
export function createStderrSink(format: LogFormat): LogSink {
  // With a least length of zero `flush` would not wait for the write that is under way.
  const stderr = destination({ fd: 2, sync: false, minLength: 1, maxLength: WAITING_BYTES_MAX })
  // Nobody is left to be told that the log's reader has gone; the server goes on without it.
  stderr.on('error', () => {})
  const pretty = format === 'text' ? loadPrettyFactory()({ colorize: false, singleLine: true }) : undefined
  return {
    write(line) {
      stderr.write(pretty === undefined ? line : (pretty(line) ?? line))
    },
    flush: () => new Promise(resolve => stderr.flush(() => resolve())),
    flushSync() {
      try {
        stderr.flushSync()
      } catch {
        // The process is about to end and its log cannot be written: there is no third way out.
      }
    },
  }
}

/** Loaded only where it is wanted: every thread would pay for it at its start. */
function loadPrettyFactory(): typeof PrettyFactory {
  return createRequire(import.meta.url)('pino-pretty').prettyFactory
}

/** Collects the lines of one turn of the event loop and hands them over together: how worker threads log. */
export function createRelaySink(send: (lines: readonly string[]) => void): LogSink {
  let lines: string[] = []
  const flushSync = () => {
    const batch = lines
    lines = []
    if (batch.length > 0) send(batch)
  }
  return {
    write(line) {
      if (lines.push(line) === 1) setImmediate(flushSync)
    },
    flushSync,
    async flush() {
      flushSync()
    },
  }
}
