/** A time as a field of dates and times has it: `2031-05-07T09:30`, by the clock of whoever looks. Its seconds are cut off. */
export function localInput(timeMs: number): string {
  const minutesMs = 60_000
  return new Date(timeMs - new Date(timeMs).getTimezoneOffset() * minutesMs).toISOString().slice(0, 16)
}
