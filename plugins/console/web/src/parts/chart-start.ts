/** Where a chart begins. */
import type { Line } from './line.ts'

/** Of a server that has just started no whole hour is drawn. */
const leastSeconds = 600

type Values = readonly (number | null | undefined)[]

/**
 * The index of the first time that is drawn. `since`, in seconds, is when measuring began: a line whose first value is later, as those of a
 * label often are, begins within the chart. Where that is not known the chart begins with the first value.
 */
export function firstDrawn(times: readonly number[], values: readonly Values[], since: number | undefined): number {
  const isMeasured = (time: number, index: number) =>
    since === undefined ? values.some(each => each[index] != null) : time >= since
  return times.findIndex((time, index) => isMeasured(time, index) || time >= times.at(-1)! - leastSeconds)
}

/** When measuring began, where that is later than what is asked for. */
export function beganAt(lines: readonly Line[], since: number | undefined): number | undefined {
  const asked = Math.min(...lines.map(({ points }) => points[0]?.[0] ?? Number.POSITIVE_INFINITY))
  return since !== undefined && since > asked ? since : undefined
}
