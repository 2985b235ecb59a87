/** The scale of a chart: how far it reaches, so that its highest line of the grid, which has a label, is no lower than the peak. */

/** Between the lines of the grid: sizes are told in powers of 1024, and what is counted comes in whole numbers. */
export const steps = {
  binary: Array.from({ length: 60 }, (_, power) => 2 ** power),
  whole: decimals([1, 2, 5], 0, 15),
  any: decimals([1, 2, 2.5, 5], -12, 27),
}

function decimals(digits: readonly number[], from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => digits.map(digit => Number(`${digit}e${from + index}`))).flat()
}

/** A line at the very edge looks cut off. */
const room = 1.05

/** `lines`: of the grid, at most, above that of 0. */
export function topOf(peak: number, increments: readonly number[], lines: number): number {
  if (peak <= 0) return 1
  const step = increments.find(one => Math.ceil(peak / one) * room <= lines) ?? peak
  return Math.ceil(peak / step) * step * room
}
