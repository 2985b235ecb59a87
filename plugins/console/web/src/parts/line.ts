/** A line of a chart. */
export interface Line {
  readonly label: string
  /** Seconds since 1970 and a value; null where nothing was measured. */
  readonly points: readonly (readonly [number, number | null])[]
}
