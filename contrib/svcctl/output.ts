/**
 * The output of a command: results on standard output, as text or (`--json`) one object per line; everything else on standard error.
 * Text is made safe for terminals here.
 */
import { once } from 'node:events'
import { describeError, errorRecord } from './errors.ts'
import { safeJson, safeText, wrapWords } from './formatting.ts'
import type { Io } from './io.ts'
import { noProgress, type Progress } from './transfer/progress.ts'

export interface OutputOptions {
  readonly isJson: boolean
  readonly isQuiet: boolean
  readonly hasColor: boolean
  /** Whether results on standard output are coloured. */
  readonly hasColoredResults: boolean
  /** Characters of a line of standard output; infinite where that is no terminal. */
  readonly width: number
  /** Width of standard error, whose sentences are wrapped between words. */
  readonly noteWidth: number
}

export type Tone = 'plain' | 'warning' | 'error'

const colors: Readonly<Record<Tone, string>> = { plain: '', warning: '\u001b[33m', error: '\u001b[31m' }

export interface Output {
  readonly options: OutputOptions
  /** The requested result. Always written. */
  result(record: Readonly<Record<string, unknown>>, ...lines: readonly string[]): void
  /** Prints one of many events, in the color of its importance. */
  event(record: Readonly<Record<string, unknown>>, line: string, tone: Tone): void
  /** A completed action. `--quiet` suppresses it. */
  done(record: Readonly<Record<string, unknown>>, line: string): void
  /** A note or warning; on standard error. */
  note(line: string): void
  /** One failure among others, which go on. */
  failed(error: unknown, what: Readonly<Record<string, unknown>>): void
  /** Resolves when the reader of standard output can take more. */
  drained(): Promise<void>
  /** Is cleared before anything is written. */
  progress: Progress
}

export function createOutput(io: Io, options: OutputOptions): Output {
  const { isJson, isQuiet, hasColor, hasColoredResults, noteWidth } = options
  const sentence = (text: string) => wrapWords(safeText(text), noteWidth).join('\n')
  const red = (text: string) => (hasColor ? `\u001b[31m${text}\u001b[39m` : text)
  const output: Output = {
    options,
    progress: noProgress,
    result(record, ...lines) {
      output.progress.clear()
      if (isJson) io.stdout.write(`${safeJson(record)}\n`)
      else if (lines.length > 0) io.stdout.write(lines.map(line => `${safeText(line)}\n`).join(''))
    },
    event(record, line, tone) {
      const color = hasColoredResults ? colors[tone] : ''
      if (isJson || color === '') output.result(record, line)
      else io.stdout.write(`${color}${safeText(line)}\u001b[39m\n`)
    },
    done(record, line) {
      if (isJson) output.result(record)
      else if (!isQuiet) output.result(record, line)
    },
    note(line) {
      output.progress.clear()
      if (!isQuiet) io.stderr.write(`${sentence(line)}\n`)
    },
    failed(error, what) {
      output.progress.clear()
      if (isJson) io.stderr.write(`${safeJson({ error: { ...errorRecord(error), ...what } })}\n`)
      else io.stderr.write(`${sentence(`svcctl: ${describeError(error)}`).replace('svcctl:', red('svcctl:'))}\n`)
    },
    async drained() {
      if (io.stdout.writableNeedDrain) await once(io.stdout, 'drain')
    },
  }
  return output
}
