/** Which changes of a set may still be undone, and since when. */
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { UnconfirmedChanges } from '../unconfirmed-changes.ts'

const none = Number.POSITIVE_INFINITY

/** `at`: a change that is begun so many milliseconds after the start. */
function changes() {
  const clock = createFakeClock()
  const unconfirmed = new UnconfirmedChanges(clock)
  const until = (ms: number) => clock.advance(ms - Number(clock.monotonicNs() / 1_000_000n))
  const at = async (ms: number): Promise<number> => {
    await until(ms)
    return unconfirmed.begin()
  }
  return { unconfirmed, until, at }
}

t.test('a change is unconfirmed from its begin until it is confirmed or refused', async t => {
  const { unconfirmed, at } = changes()
  t.equal(unconfirmed.oldestMs, none)
  const first = await at(10)
  t.equal(unconfirmed.oldestMs, 10)
  t.notOk(unconfirmed.hasDoubts, 'it is only under way')
  unconfirmed.confirm(first)
  t.equal(unconfirmed.oldestMs, none)
  unconfirmed.drop(await at(20))
  t.equal(unconfirmed.oldestMs, none)
})

t.test('the oldest counts, in whatever order they end', async t => {
  const { unconfirmed, at } = changes()
  const [first, second, third] = [await at(10), await at(20), await at(30)]
  t.ok(first < second && second < third)
  unconfirmed.confirm(second)
  t.equal(unconfirmed.oldestMs, 10, 'one before it is still under way, and may fail')
  unconfirmed.drop(first)
  t.equal(unconfirmed.oldestMs, 30)
  unconfirmed.confirm(third)
  t.equal(unconfirmed.oldestMs, none)
})

t.test('a change in doubt is so until a later one is confirmed', async t => {
  const { unconfirmed, at } = changes()
  const [earlier, doubtful, later, last] = [await at(10), await at(20), await at(30), await at(40)]
  unconfirmed.doubt(doubtful)
  t.ok(unconfirmed.hasDoubts)
  unconfirmed.confirm(earlier)
  t.ok(unconfirmed.hasDoubts, 'an earlier one says nothing of it')
  t.equal(unconfirmed.oldestMs, 20)
  unconfirmed.drop(later)
  t.equal(unconfirmed.oldestMs, 20, 'nor does one that was refused')
  unconfirmed.confirm(last)
  t.notOk(unconfirmed.hasDoubts)
  t.equal(unconfirmed.oldestMs, none)
})

t.test(
  'of several in doubt, in whatever order they became so, those before the confirmed one are resolved',
  async t => {
    const { unconfirmed, at } = changes()
    const [first, second, confirmed, third, fourth] = [
      await at(10),
      await at(20),
      await at(30),
      await at(40),
      await at(50),
    ]
    for (const serial of [fourth, first, third, second]) unconfirmed.doubt(serial)
    t.equal(unconfirmed.oldestMs, 10)
    unconfirmed.confirm(confirmed)
    t.ok(unconfirmed.hasDoubts)
    t.equal(unconfirmed.oldestMs, 40)
    unconfirmed.confirm(await at(60))
    t.notOk(unconfirmed.hasDoubts)
    t.equal(unconfirmed.oldestMs, none)
  },
)

t.test('one under way and one in doubt: the older of them counts', async t => {
  const { unconfirmed, at } = changes()
  const [first, second] = [await at(10), await at(20)]
  unconfirmed.doubt(second)
  t.equal(unconfirmed.oldestMs, 10)
  unconfirmed.drop(first)
  await at(30)
  t.equal(unconfirmed.oldestMs, 20)
})

t.test('a change that has ended does not become doubtful', async t => {
  const { unconfirmed, at } = changes()
  const [confirmed, refused] = [await at(10), await at(20)]
  unconfirmed.confirm(confirmed)
  unconfirmed.drop(refused)
  unconfirmed.doubt(confirmed)
  unconfirmed.doubt(refused)
  t.notOk(unconfirmed.hasDoubts)
})

t.test('what an elected leader brings is in doubt until a change of its own is confirmed', async t => {
  const { unconfirmed, at, until } = changes()
  const former = await at(10)
  await until(20)
  unconfirmed.doubtElected()
  t.ok(unconfirmed.hasDoubts)
  unconfirmed.confirm(former)
  t.ok(unconfirmed.hasDoubts, 'one that was begun under the former leader is none')
  t.equal(unconfirmed.oldestMs, 20)
  unconfirmed.confirm(await at(30))
  t.notOk(unconfirmed.hasDoubts)
  t.equal(unconfirmed.oldestMs, none)
})

t.test('any number may be in doubt', async t => {
  const { unconfirmed, at } = changes()
  const last = await at(10)
  const count = 200_000
  for (let i = 0; i < count; i++) unconfirmed.doubt(unconfirmed.begin())
  unconfirmed.confirm(last)
  t.ok(unconfirmed.hasDoubts)
  unconfirmed.confirm(last + count)
  unconfirmed.confirm(await at(20))
  t.notOk(unconfirmed.hasDoubts)
})
