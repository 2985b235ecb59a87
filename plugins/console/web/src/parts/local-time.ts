import { problemAt } from '../api/problem.ts'
import { texts } from '../texts/index.ts'

/** The time of such a field for the API. Throws at the path in the body where it is none, as in a year after 275760. */
export function isoTime(input: string, path: string): string {
  const time = new Date(input)
  if (Number.isNaN(time.getTime())) throw problemAt(path, texts.common.noTime)
  return time.toISOString()
}

/** A time as a field of dates and times has it: `2031-05-07T09:30`, by the clock of whoever looks. Its seconds are cut off. */
export function localInput(timeMs: number): string {
  const minutesMs = 60_000
  return new Date(timeMs - new Date(timeMs).getTimezoneOffset() * minutesMs).toISOString().slice(0, 16)
}
