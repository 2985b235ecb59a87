/** What a chart of the overview has to show. */
import type { Line } from '../../parts/line.ts'

export interface Measured {
  readonly lines: readonly Line[]
  /** Whether the server has measured again since its start: before that nothing is known of what happened. */
  readonly isTold: boolean
}

export interface MeasuredKind {
  /** Where all is 0 a sentence says more than a line. */
  readonly isIdleAtZero?: boolean
  /** How much there is now, where that is known: it may have come after the last measurement. */
  readonly now?: number | undefined
}

/** `idle`: it was measured that there is nothing. */
export type Shown = 'lines' | 'idle' | 'unmeasured'

export function shownOf({ lines, isTold }: Measured, { isIdleAtZero = false, now = 0 }: MeasuredKind): Shown {
  const values = lines.flatMap(({ points }) => points.flatMap(([, value]) => (value === null ? [] : [value])))
  if (!values.every(value => isIdleAtZero && value === 0)) return 'lines'
  // What is stored now is said by a measured zero alone: where nothing could be measured, as while a drive does not answer, nothing is known.
  const isKnown = !isIdleAtZero || values.length > 0
  return isTold && isKnown && now === 0 ? 'idle' : 'unmeasured'
}
