/** What the log says of a set that cannot be written. */
import { pino } from 'pino'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { WriteState } from '../write-state.ts'

t.test('told at the change, every five minutes, and at the end', async t => {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: line => void lines.push(JSON.parse(line).msg) })
  const clock = createFakeClock()
  const set = { currentCount: 4, writeQuorum: 3, slotCount: 4 }
  const state = new WriteState({ set, clock, log })
  const looked = () => {
    state.look()
    return lines.splice(0)
  }
  t.same(looked(), [])
  set.currentCount = 3
  t.same(looked(), [], 'one drive away is not told here')
  set.currentCount = 2
  t.match(looked(), [/^the set cannot be written/])
  set.currentCount = 1
  t.same(looked(), [])
  await clock.advance(299_000)
  t.same(looked(), [])
  await clock.advance(1000)
  t.match(looked(), [/^the set cannot be written/])
  set.currentCount = 3
  t.same(looked(), ['the set can be written again'])
  t.same(looked(), [])
  set.currentCount = 2
  t.match(looked(), [/^the set cannot be written/], 'the next time is told at once')
})
