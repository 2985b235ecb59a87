/** The highest line of the grid of a chart has a label: no peak is above it. */
import t from 'tap'
import { steps, topOf } from '../web/src/parts/chart-scale.ts'

t.test('a chart reaches to a line of its grid above the peak', async t => {
  for (const [peak, kind, line] of [
    [0.8, 'any', 1],
    [0.5, 'any', 0.6],
    [0.07, 'any', 0.075],
    [12, 'any', 15],
    [1234, 'any', 1500],
    [1, 'whole', 1],
    [4, 'whole', 4],
    [21, 'whole', 30],
    [4_194_304, 'binary', 4_194_304],
    [5_000_000, 'binary', 6_291_456],
    [0, 'any', 1 / 1.05],
  ] as const) {
    const top = topOf(peak, steps[kind], 3.4)
    t.ok(Math.abs(top / 1.05 - line) < line * 1e-9, `${peak}: ${top}`)
  }
})
