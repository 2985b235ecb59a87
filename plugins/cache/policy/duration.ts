/** Durations of cache policies, as the Admin API takes them. */
const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** A hundred years. */
const durationMsMax = 3_155_760_000_000

/**
 * Parses a number of seconds, or a text such as `500ms`, `5s`, `1h30m` or `300` (seconds). Returns milliseconds; undefined if it is malformed or
 * longer than a hundred years.
 */
export function parseDuration(value: string | number): number | undefined {
  const text = String(value)
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000)
  if (!/^(\d+(ms|[smhdw]))+$/.test(text)) return undefined
  let sumMs = 0
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[smhdw])/g))
    sumMs += Number(count) * (unitMs[unit as string] as number)
  return bounded(sumMs)
}

const bounded = (ms: number) => (ms <= durationMsMax ? Math.round(ms) : undefined)
