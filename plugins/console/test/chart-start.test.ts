/** A chart says that there are no measurements only of the time before the first of all, and not of that before the first of its lines. */
import t from 'tap'
import { beganAt, firstDrawn } from '../web/src/parts/chart-start.ts'

const times = [1000, 2000, 3000, 4000, 5000]
const lines = (...values: (readonly (number | null)[])[]) =>
  values.map(each => ({ label: 'one', points: each.map((value, index) => [times[index]!, value] as const) }))
const late = [null, null, null, 1, 1]

t.test('measuring has begun when it began, however late a line begins', async t => {
  t.equal(beganAt(lines(late, late), 900), undefined, 'before what is asked for')
  t.equal(beganAt(lines(late), 1000), undefined, 'with it')
  t.equal(beganAt(lines(late), 2000), 2000, 'later')
  t.equal(beganAt(lines(late), undefined), undefined, 'nobody knows')
})

t.test('a line that begins late begins within the chart', async t => {
  t.equal(firstDrawn(times, [late], 900), 0)
  t.equal(firstDrawn(times, [late], 1001), 1)
  t.equal(firstDrawn(times, [late, [null, null, 1, 1, 1]], undefined), 2, 'nobody knows when measuring began')
  t.equal(firstDrawn([4000, 4500, 5000], [[null, null, 1]], 5000), 1, 'ten minutes at least')
})
