/** The search finds what a comparison with every range finds. */
import fc from 'fast-check'
import t from 'tap'
import { createRangeSearch } from '../range-search.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '\u{1f600}', '\uffff'), maxLength: 6 })
const range = fc.record({ prefix: name, lastDay: fc.integer({ min: 0, max: 5 }) })

t.test('as a comparison with every range', t => {
  fc.assert(
    fc.property(
      fc.array(range, { maxLength: 30 }),
      fc.array(name),
      fc.integer({ min: 0, max: 6 }),
      (ranges, keys, day) => {
        const isIn = createRangeSearch(ranges)
        for (const key of keys) {
          const expected = ranges.some(({ prefix, lastDay }) => day <= lastDay && key.startsWith(prefix))
          if (isIn(key, day) !== expected) throw new Error(`${JSON.stringify(key)} on day ${day}: not ${expected}`)
        }
      },
    ),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('a longer prefix with an earlier day does not hide a shorter one', t => {
  const isIn = createRangeSearch([
    { prefix: '', lastDay: 5 },
    { prefix: 'logs/', lastDay: 1 },
    { prefix: 'logs/', lastDay: 2 },
  ])
  t.ok(isIn('logs/x', 5))
  t.notOk(isIn('logs/x', 6))
  t.notOk(createRangeSearch([])('x', 0))
  t.end()
})
