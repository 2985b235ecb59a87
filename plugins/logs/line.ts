/** Lines of the log, from the text that was written. */
import { type LineLevel, type LogFilter, type LogLine, logLevels } from './api.ts'

const rank: ReadonlyMap<string, number> = new Map(logLevels.map((level, index) => [level, index]))

/** Undefined where the text is no line of the log. */
export function parseLine(text: string, node: string): LogLine | undefined {
  try {
    const { level, time, component, plugin, msg = '', err, ...others } = JSON.parse(text)
    const error = typeof err?.message === 'string' ? { error: err.message, stack: err.stack } : undefined
    return {
      time,
      ...others,
      node,
      level: level as LineLevel,
      component: component ?? plugin ?? 'kernel',
      msg,
      ...error,
    }
  } catch {
    return undefined
  }
}

export function matches({ level, component }: LogLine, filter: LogFilter): boolean {
  if (filter.level !== undefined && (rank.get(level) ?? 0) < rank.get(filter.level)!) return false
  if (filter.audit === false && component === 'audit') return false
  return filter.component === undefined || filter.component === component
}

/** Audit records are most of a log: a bound keeps them from displacing all other lines. Their own keys come first in a line. */
export function isAudit(text: string): boolean {
  const at = text.indexOf('"component":"audit"')
  return at !== -1 && at < 120
}
