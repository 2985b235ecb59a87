/** A delivery over time: pauses, attempts that hang, entries that always fail; with a clock that the test moves. */
import { setImmediate as turn } from 'node:timers/promises'
import { createFakeClock, createSeededRandom, until } from 'svc/testing'
import t, { type Test } from 'tap'
import type { DeliveryOptions, QueueEntry } from '../api.ts'
import { procedure } from '../commit.ts'
import { createDeadLetters } from '../dead-letters.ts'
import { createQueueDelivery, stopGraceMs } from '../delivery.ts'
import { queuePlace } from '../keys.ts'
import { entry, newFolder, startQueue, textOf } from './start.ts'

const queue = await startQueue(await newFolder(t))
t.teardown(queue.stop)
const { news, storage, kernel } = queue
let queueCount = 0

/** A delivery of a queue of its own, over the real drive, with a fake clock. */
async function start(t: Test, texts: readonly (readonly [key: string, text: string])[], options: DeliveryOptions) {
  const queue = `queue-${++queueCount}`
  await news.push(
    queue,
    texts.map(([key, text]) => entry(key, text)),
    1000,
  )
  const clock = createFakeClock()
  const random = createSeededRandom(queueCount)
  const deadLetters = createDeadLetters(storage)
  const place = queuePlace('news', queue)
  const told = { sent: 0, failedAttempts: 0, lastError: '' }
  const delivery = createQueueDelivery({
    storage,
    ports: { ...kernel.ports, clock, random },
    log: kernel.log,
    place,
    delivery: {
      ...options,
      onSent(count) {
        told.sent += count
        told.lastError = ''
      },
      onFailed(reason) {
        told.failedAttempts++
        told.lastError = reason
      },
    },
    deadLetter: async (held, reason) => {
      await deadLetters.add(place, held, reason)
    },
    counters: { onSent: () => undefined, onFailedAttempt: () => undefined },
    onStopped: () => undefined,
  })
  t.teardown(() => delivery.stop())
  /** The storage is real, so it needs some turns of the event loop. */
  const barrier = async () => {
    for (let i = 0; i < 20; i++) await turn()
    await storage.execute(procedure.barrier, undefined)
    for (let i = 0; i < 20; i++) await turn()
  }
  return {
    queue,
    delivery,
    /** The sum of all calls of `onSent`; `lastError` is empty after a success. */
    told,
    clock,
    barrier,
    async advance(milliseconds: number) {
      await clock.advance(milliseconds)
      await barrier()
    },
  }
}

t.test('pauses double up to the longest, vary by a fifth, and end with a success', async t => {
  let attempts = 0
  let fails = true
  const { queue, delivery, told, advance, barrier } = await start(t, [['k', '1']], {
    retryFirstMs: 1000,
    retryMaxMs: 8000,
    async send() {
      attempts++
      if (fails) throw new Error('it is away')
    },
  })
  await until(() => attempts === 1)
  await barrier()
  t.match(told, { lastError: 'it is away', failedAttempts: 1, sent: 0 })
  for (const pauseMs of [1000, 2000, 4000, 8000, 8000]) {
    const before = attempts
    await advance(pauseMs * 0.8 - 2)
    t.equal(attempts, before, `not before ${pauseMs} ms less a fifth`)
    await advance(pauseMs * 0.4 + 4)
    t.equal(attempts, before + 1, `after ${pauseMs} ms and a fifth at the latest`)
  }
  fails = false
  delivery.retryNow()
  await until(async () => (await news.status(queue)).pending === 0)
  t.match(told, { lastError: '', failedAttempts: 6, sent: 1 })
})

t.test('a destination that does not answer gets one batch at a time, whatever the concurrency', async t => {
  let underWay = 0
  let most = 0
  let fails = true
  const got: string[] = []
  const texts = Array.from({ length: 40 }, (_, i) => [`k${i}`, String(i)] as const)
  const { told, advance, barrier } = await start(t, texts, {
    concurrency: 4,
    batchMax: 2,
    async send(entries) {
      most = Math.max(most, ++underWay)
      await turn()
      underWay--
      if (fails) throw new Error('it is away')
      got.push(...entries.map(textOf))
    },
  })
  await until(() => told.failedAttempts === 4)
  await barrier()
  t.equal(most, 4)
  most = 0
  await advance(1201)
  t.equal(told.failedAttempts, 5, 'four failures at once are one pause, and one batch probes')
  t.equal(most, 1)
  fails = false
  await advance(2401)
  await until(() => got.length > 0)
  await advance(5000)
  await until(() => got.length === 40)
  t.same(
    [...got].sort((a, b) => Number(a) - Number(b)),
    texts.map(([, text]) => text),
  )
})

t.test('an attempt that hangs is aborted, counts as failed, and is repeated', async t => {
  const signals: AbortSignal[] = []
  const { queue, told, advance } = await start(t, [['k', '1']], {
    timeoutMs: 5000,
    send(_, signal) {
      signals.push(signal)
      return signals.length === 1 ? new Promise(() => undefined) : Promise.resolve()
    },
  })
  await until(() => signals.length === 1)
  await advance(4999)
  t.notOk(signals[0]!.aborted)
  await advance(1)
  t.ok(signals[0]!.aborted)
  t.match(told, { lastError: 'There was no answer within 5000 ms.' })
  await advance(1200)
  await until(async () => (await news.status(queue)).pending === 0)
  t.equal(signals.length, 2)
})

t.test('an entry that always fails delays only entries with its key', async t => {
  const got: string[] = []
  const texts = [
    ['bad', 'bad-1'],
    ['bad', 'bad-2'],
    ...Array.from({ length: 30 }, (_, i) => [`k${i % 3}`, `good-${i}`] as const),
  ] as const
  const { queue, told, advance } = await start(t, texts, {
    batchMax: 8,
    async send(entries) {
      const names = entries.map(textOf)
      if (names.includes('bad-1')) throw new Error('not this one')
      got.push(...names)
    },
  })
  await until(() => told.failedAttempts === 1)
  for (let i = 0; i < 60 && got.length < 30; i++) await advance(1000)
  t.equal(got.length, 30)
  for (const key of [0, 1, 2]) {
    const numbers = got.map(name => Number(name.slice(5))).filter(number => number % 3 === key)
    t.same(
      numbers,
      [...numbers].sort((a, b) => a - b),
    )
  }
  t.notOk(got.includes('bad-2'))
  t.equal((await news.status(queue)).pending, 2)
})

t.test('an entry that fails for good becomes a dead letter, and no other entry of its batch', async t => {
  const sizes: number[] = []
  const got: string[] = []
  const texts = ['1', '2', 'bad', '4', '5'].map(text => ['k', text] as const)
  const { queue, told } = await start(t, texts, {
    batchMax: 10,
    async send(entries) {
      sizes.push(entries.length)
      // The error of a plugin that has its own copy of the class.
      const permanent = Object.assign(new Error('it is malformed'), { name: 'PermanentDeliveryError' })
      if (entries.some(each => textOf(each) === 'bad')) throw permanent
      got.push(...entries.map(textOf))
    },
  })
  await until(async () => (await news.status(queue)).pending === 0)
  t.same(got, ['1', '2', '4', '5'])
  t.same(sizes, [5, 1, 1, 1, 1, 1])
  t.same(await news.status(queue), { pending: 0, pendingBytes: 0, deadLetters: 1 })
  const [letter] = await news.deadLetters(queue, { startAfter: '', limit: 10 })
  t.match(letter, { key: 'k', reason: 'it is malformed', attempts: 2 })
  t.equal(textOf(letter!), 'bad')
  t.equal(told.failedAttempts, 2)
})

t.test('a stop waits for attempts under way, then aborts them; their entries are sent again', async t => {
  let finish: (() => void) | undefined
  const first = await start(t, [['a', '1']], {
    send: () =>
      new Promise<void>(resolve => {
        finish = resolve
      }),
  })
  await until(() => finish !== undefined)
  const stopped = first.delivery.stop()
  finish!()
  await stopped
  t.equal((await news.status(first.queue)).pending, 0, 'what ended in time is gone')

  let signal: AbortSignal | undefined
  const second = await start(t, [['a', '1']], {
    send(_, given) {
      signal = given
      return new Promise(() => undefined)
    },
  })
  await until(() => signal !== undefined)
  let isStopped = false
  const stopping = second.delivery.stop().then(() => {
    isStopped = true
  })
  await second.advance(stopGraceMs - 1)
  t.notOk(isStopped)
  await second.advance(1)
  await stopping
  t.ok(signal!.aborted)
  t.equal((await news.status(second.queue)).pending, 1)
  t.equal(second.clock.pending(), 0, 'no timer is left')
  const again: QueueEntry[] = []
  const delivery = news.deliver(second.queue, {
    async send(entries) {
      again.push(...entries)
    },
  })
  await until(() => again.length === 1)
  await delivery.stop()
})

t.test('after a long outage an entry that always fails does not block the others', async t => {
  let isAway = true
  const got: string[] = []
  const texts = Array.from({ length: 12 }, (_, i) => [`k${i}`, String(i)] as const)
  const { told, advance } = await start(t, texts, {
    retryMaxMs: 2000,
    async send(entries) {
      const names = entries.map(textOf)
      if (isAway || names.includes('0')) throw new Error('away')
      got.push(...names)
    },
  })
  for (let i = 0; i < 60; i++) await advance(2401)
  t.ok(told.failedAttempts > 36, 'each has failed several times')
  isAway = false
  for (let i = 0; i < 40 && got.length < 11; i++) await advance(2401)
  t.same(got.length, 11)
})
