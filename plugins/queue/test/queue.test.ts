/** The queue over a real drive: limits, commits that are rolled back, large payloads, dead letters, restarts. */
import { seeded, testRounds, until } from 'svc/testing'
import t from 'tap'
import type { QueueEntry } from '../api.ts'
import { createDeadLetters } from '../dead-letters.ts'
import { PermanentDeliveryError } from '../errors.ts'
import { endOf, queuePlace } from '../keys.ts'
import { entry, newFolder, startForTest, startQueue, textOf } from './start.ts'

t.test('entries of a commit are delivered in order, and then deleted', async t => {
  const { news, put } = await startForTest(t)
  const got: string[] = []
  t.same(await put({ queue: 'web:a', entries: [entry('k', '1'), entry('k', '2')], limit: 10 }), [true, true])
  t.same(await news.status('web:a'), { pending: 2, pendingBytes: 2, deadLetters: 0 })
  let sent = 0
  const delivery = news.deliver('web:a', {
    async send(entries) {
      got.push(...entries.map(textOf))
    },
    onSent(count) {
      sent += count
    },
    onFailed: reason => t.fail(reason),
  })
  await until(() => got.length === 2)
  t.equal(await news.push('web:a', [entry('k', '3'), entry('', '4')], 10), 2)
  await until(() => got.length === 4)
  t.same(got, ['1', '2', '3', '4'])
  await t.rejects(put({ queue: 'web:a', entries: [entry('k', 'never')], limit: 10, fails: true }), /taken back/)
  await put({ queue: 'web:a', entries: [entry('k', '5')], limit: 10 })
  await until(() => got.length === 5)
  t.equal(got[4], '5')
  await until(async () => (await news.status('web:a')).pending === 0)
  t.same(await news.queues(), [])
  t.equal(sent, 5)
  t.throws(() => news.deliver('web:a', { send: async () => undefined }), /delivered already/)
  await delivery.stop()
  await news.push('web:a', [entry('k', '6')], 10)
  const again: QueueEntry[] = []
  const second = news.deliver('web:a', {
    async send(entries) {
      again.push(...entries)
    },
  })
  await until(() => again.length > 0)
  t.same(again.map(textOf), ['6'])
  t.match(again[0]!.id, /^[0-9a-f]{20}$/)
  await second.stop()
})

t.test('concurrent writers do not exceed the limit', async t => {
  const { news, put, kernel } = await startForTest(t)
  const writers = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0
      ? put({ queue: 'full', entries: [entry('', 'a'), entry('', 'b'), entry('', 'c')], limit: 50 })
      : news.push('full', [entry('', 'd'), entry('', 'e')], 50).then(count => Array<boolean>(count).fill(true)),
  )
  const taken = (await Promise.all(writers)).flat().filter(Boolean).length
  t.equal(taken, 50)
  t.same(await news.status('full'), { pending: 50, pendingBytes: 50, deadLetters: 0 })
  t.equal(await news.push('full', [entry('', 'f'), entry('', 'g')], 51), 1, 'the first ones')
  const { port } = kernel.services.http.listeners().find(({ name }) => name === 's3')!
  const metrics = await (await fetch(`http://127.0.0.1:${port}/svc/metrics/v1/node`)).text()
  t.match(metrics, /^svc_queue_pending\{.*family="news".*\} 51$/m)
  t.match(metrics, /^svc_queue_refused_total\{.*family="news".*\} 51$/m)
  const check = kernel.point('health.check').get('queue')!
  t.same(await check(), { ok: true, detail: 'entries found their queue full within the last hour: news' })
})

t.test('invalid entries are refused', async t => {
  const { news, kernel } = await startForTest(t)
  await t.rejects(news.push('a', [entry('x'.repeat(2001), '')], 10), RangeError)
  await t.rejects(news.push('a', [entry('é'.repeat(1001), '')], 10), RangeError)
  await t.rejects(news.push('a', [{ key: '', payload: Buffer.alloc(1024 * 1024 + 1) }], 10), RangeError)
  await t.rejects(news.push('a', Array(1001).fill(entry('', '')), 2000), RangeError)
  await t.rejects(news.push('a', Array(17).fill({ key: '', payload: Buffer.alloc(1024 * 1024) }), 2000), RangeError)
  await t.rejects(news.push('', [entry('', '')], 10), RangeError)
  await t.rejects(news.push('a\0b', [entry('', '')], 10), RangeError)
  t.throws(() => news.deliver('a', { send: async () => undefined, batchMax: 0 }), RangeError)
  t.throws(() => kernel.services.queue.topic('later'), /during set-up/)
  t.equal(await news.push('a', [entry('é'.repeat(1000), '')], 10), 1)
})

t.test('payloads of every size arrive unchanged, also as dead letters and when queued again', async t => {
  const { news, put, storage } = await startForTest(t)
  const sizes = [0, 1, 4096, 4097, 128 * 1024, 128 * 1024 + 1, 1024 * 1024]
  const entries = sizes.map((size, i) => ({ key: 'k', payload: Buffer.alloc(size, i + 1) }))
  await put({ queue: 'sizes', entries, limit: 100 })
  const bytes = sizes.reduce((sum, size) => sum + size)
  t.same(await news.status('sizes'), { pending: sizes.length, pendingBytes: bytes, deadLetters: 0 })
  let takes = false
  const got: QueueEntry[] = []
  news.deliver('sizes', {
    batchMax: 3,
    async send(sent) {
      if (!takes) throw new PermanentDeliveryError('not now')
      got.push(...sent)
    },
  })
  await until(async () => (await news.status('sizes')).deadLetters === sizes.length)
  t.same(await news.queues(), ['sizes'])
  const letters = await news.deadLetters('sizes', { startAfter: '', limit: 100 })
  t.same(
    letters.map(({ payload }) => payload),
    entries.map(({ payload }) => payload),
  )
  const rest = await news.deadLetters('sizes', { startAfter: letters[2]!.id, limit: 2 })
  t.same(
    rest.map(({ id }) => id),
    letters.slice(3, 5).map(({ id }) => id),
  )
  takes = true
  t.equal(await news.retryDeadLetters('sizes'), sizes.length)
  await until(async () => (await news.status('sizes')).pending === 0)
  t.same(
    got.map(({ payload }) => payload),
    entries.map(({ payload }) => payload),
  )
  t.same(
    got.map(({ queuedMs }) => queuedMs),
    letters.map(({ queuedMs }) => queuedMs),
    'queued is when it was first',
  )
  t.ok(got[0]!.id > letters.at(-1)!.id, 'behind what waits')
  t.same(await news.status('sizes'), { pending: 0, pendingBytes: 0, deadLetters: 0 })
  t.same(await storage.counter(queuePlace('news', 'sizes').count), [])
})

t.test('the oldest dead letters make room for new ones', async t => {
  const { news, storage } = await startForTest(t)
  const place = queuePlace('news', 'old')
  const deadLetters = createDeadLetters(storage, 3)
  await news.push(
    'old',
    ['1', '2', '3', '4', '5'].map(text => entry('', text)),
    10,
  )
  const keys = await storage.scan(place.waiting, endOf(place.waiting), cursor => {
    const found: Buffer[] = []
    while (cursor.next()) found.push(Buffer.from(cursor.key))
    return found
  })
  const deadLetter = (recordKey: Buffer) => deadLetters.add(place, { recordKey, attempts: 1 }, 'why')
  t.same(await Promise.all(keys.map(deadLetter)), [0, 0, 0, 1, 1])
  t.same((await news.deadLetters('old', { startAfter: '', limit: 10 })).map(textOf), ['3', '4', '5'])
  t.same(await news.status('old'), { pending: 0, pendingBytes: 0, deadLetters: 3 })
})

t.test(
  'what is given up after the newest dead letter that was seen stays, also where it was queued before it',
  async t => {
    const { news } = await startForTest(t)
    const texts = async () => (await news.deadLetters('seen', { startAfter: '', limit: 10 })).map(textOf)
    let isAway = true
    news.deliver('seen', {
      concurrency: 2,
      retryFirstMs: 1,
      retryMaxMs: 2,
      async send([given]) {
        if (isAway && textOf(given!) === 'overtaken') throw new Error('away')
        throw new PermanentDeliveryError('never')
      },
    })
    t.same(await news.countDeadLetters('seen'), { count: 0, newest: '' })
    await news.push(
      'seen',
      ['overtaken', 'a', 'b'].map(text => entry(text, text)),
      10,
    )
    await until(async () => (await news.status('seen')).deadLetters === 2)
    const seen = await news.countDeadLetters('seen')
    t.match(seen, { count: 2, newest: /^[0-9a-f]{20}$/ })
    await t.rejects(news.discardDeadLetters('seen', [seen.newest] as object), TypeError, 'and not all of them')
    await t.rejects(news.retryDeadLetters('seen', [] as object), TypeError)
    isAway = false
    await until(async () => (await news.status('seen')).deadLetters === 3)
    t.same(await texts(), ['a', 'b', 'overtaken'])
    const last = await news.countDeadLetters('seen')
    t.ok(last.count === 3 && last.newest > seen.newest)
    t.equal(await news.discardDeadLetters('seen', { ids: [last.newest], through: seen.newest }), 0)
    t.equal(await news.discardDeadLetters('seen', { through: seen.newest }), 2)
    t.same(await texts(), ['overtaken'])
    t.equal(await news.retryDeadLetters('seen', { through: seen.newest }), 0)
    t.equal(await news.retryDeadLetters('seen', { through: last.newest }), 1)
    await until(async () => (await news.status('seen')).deadLetters === 1)
    t.ok((await news.countDeadLetters('seen')).newest > last.newest, 'given up anew')
  },
)

t.test('clear deletes waiting entries and dead letters, and none of them is sent afterwards', async t => {
  const { news } = await startForTest(t)
  const names = Array.from({ length: 2500 }, (_, i) => String(i))
  for (let at = 0; at < names.length; at += 500) {
    await news.push(
      'many',
      names.slice(at, at + 500).map(text => entry(text, text)),
      5000,
    )
  }
  await news.push('other', [entry('', 'stays')], 10)
  const got: string[] = []
  let fails = true
  const delivery = news.deliver('many', {
    batchMax: 10,
    concurrency: 2,
    retryFirstMs: 1,
    retryMaxMs: 2,
    async send(entries) {
      if (fails) throw textOf(entries[0]!) === '7' ? new PermanentDeliveryError('no') : new Error('away')
      got.push(...entries.map(textOf))
    },
  })
  await until(async () => (await news.status('many')).deadLetters === 1)
  t.equal(await news.clear('many'), 2500)
  t.same(await news.status('many'), { pending: 0, pendingBytes: 0, deadLetters: 0 })
  fails = false
  await news.push('many', [entry('new', 'new')], 10)
  await until(() => got.includes('new'))
  t.same(got, ['new'])
  t.equal((await news.status('other')).pending, 1)
  await delivery.stop()
})

t.test('entries of a topic whose plugin is not loaded are kept, and delivered after a restart with it', async t => {
  const folder = await newFolder(t)
  const first = await startQueue(folder)
  await first.put({ queue: 'a', entries: [entry('k', '1'), entry('k', '2')], limit: 10 })
  await first.stop()
  const without = await startQueue(folder, { isDeclared: false })
  await without.stop()
  const { news } = await startForTest(t, {}, folder)
  t.same(await news.queues(), ['a'])
  t.same(await news.status('a'), { pending: 2, pendingBytes: 2, deadLetters: 0 })
  const got: string[] = []
  news.deliver('a', {
    async send(entries) {
      got.push(...entries.map(textOf))
    },
  })
  await until(() => got.length === 2)
  t.same(got, ['1', '2'])
})

t.test('a full drive refuses entries, and delivers and deletes those that wait', async t => {
  let freeBytes = 2 ** 30
  const space = async () => ({ totalBytes: 2 ** 31, freeBytes, reservedBytes: 0, freeInodes: 100_000 })
  const { news, put } = await startForTest(t, { disk: { space } })
  const entries = Array.from({ length: 30 }, (_, i) => entry(`k${i % 4}`, `${i}`))
  await put({ queue: 'a', entries, limit: 100 })
  freeBytes = 1000
  const isFull = () =>
    put({ queue: 'probe', entries: [entry('', 'x')], limit: 100_000 }).then(
      () => false,
      error => error.code === 'full',
    )
  await until(isFull)
  const got: string[] = []
  const delivery = news.deliver('a', {
    batchMax: 4,
    retryFirstMs: 1,
    retryMaxMs: 20,
    async send(sent) {
      if (sent.some(each => textOf(each) === '5')) throw new PermanentDeliveryError('never')
      got.push(...sent.map(textOf))
    },
  })
  // A dead letter takes more space than its entry: it waits for space, and entries with the same key wait with it.
  await until(async () => (await news.status('a')).pending === 7)
  t.ok(await isFull(), 'it was full all the time')
  t.same(
    got.filter(text => Number(text) % 4 === 1),
    ['1'],
  )
  t.equal((await news.status('a')).deadLetters, 0)
  freeBytes = 2 ** 30
  await until(async () => (await news.status('a')).pending === 0)
  t.same(await news.status('a'), { pending: 0, pendingBytes: 0, deadLetters: 1 })
  t.same(
    got.filter(text => Number(text) % 4 === 1),
    ['1', '9', '13', '17', '21', '25', '29'],
  )
  await delivery.stop()
})

t.test('random schedules: nothing is lost, and each key keeps its order', async t => {
  for (let round = 0; round < testRounds({ laptop: 1, ci: 3, long: 6 }); round++) {
    await seeded(t, async random => {
      const folder = await newFolder(t)
      const batchMax = random.pick([1, 2, 7, 50])
      const concurrency = random.pick([1, 2, 5])
      const failures = random.pick([0, 0.05, 0.4])
      const keys = ['', ...Array.from({ length: random.pick([1, 3, 40]) }, (_, i) => `key-${i}`)]
      /** By key: accepted texts in the order of their commits, and the number of delivered ones. */
      const accepted = new Map<string, string[]>(keys.map(key => [key, []]))
      const done = new Set<string>()
      const active = new Set<string>()
      const faults: string[] = []
      let number = 0
      let batches = 0

      const send = async (entries: readonly QueueEntry[]) => {
        if (entries.length > batchMax) faults.push(`a batch of ${entries.length}`)
        if (++batches > concurrency) faults.push(`${batches} batches at once`)
        const own = new Set(entries.map(({ key }) => key).filter(key => key !== ''))
        for (const key of own) if (active.has(key)) faults.push(`${key} is in two batches`)
        for (const key of own) active.add(key)
        const before = new Set<string>()
        for (const each of entries) {
          const text = textOf(each)
          const order = accepted.get(each.key)!
          if (!order.includes(text)) faults.push(`${text} was never accepted`)
          if (each.key !== '') {
            const earlier = order.slice(0, order.indexOf(text))
            const missing = earlier.find(other => !done.has(other) && !before.has(other))
            if (missing !== undefined) faults.push(`${text} came before ${missing}`)
          }
          before.add(text)
        }
        try {
          if (random.float() < 0.5) await new Promise(resolve => setTimeout(resolve, random.integer(4)))
          if (random.float() < failures) throw new Error('away')
          const bad = entries.filter(each => textOf(each).endsWith('bad'))
          if (bad.length > 0) {
            if (entries.length === 1) done.add(textOf(bad[0]!))
            throw new PermanentDeliveryError('bad')
          }
          for (const text of before) done.add(text)
        } finally {
          batches--
          for (const key of own) active.delete(key)
        }
      }

      for (let life = 0; life < 3; life++) {
        const queue = await startQueue(folder)
        const { news, put } = queue
        const deliver = () =>
          news.deliver('queue', { batchMax, concurrency, retryFirstMs: 1, retryMaxMs: 10, timeoutMs: 20_000, send })
        let delivery = random.float() < 0.8 ? deliver() : undefined
        const puts: Promise<unknown>[] = []
        for (let step = 0; step < 150; step++) {
          const entries = Array.from({ length: 1 + random.integer(random.pick([2, 30])) }, () =>
            entry(random.pick(keys), `${++number}-${random.integer(40) === 0 ? 'bad' : 'good'}`),
          )
          const fails = random.integer(8) === 0
          if (!fails) for (const each of entries) accepted.get(each.key)!.push(String(each.payload))
          const putting = put({ queue: 'queue', entries, limit: 1e6, fails })
          puts.push(fails ? putting.catch(() => undefined) : putting)
          if (random.integer(4) === 0) await putting.catch(() => undefined)
          if (random.integer(20) === 0) {
            await delivery?.stop()
            delivery = delivery === undefined || random.float() < 0.8 ? deliver() : undefined
          }
        }
        await Promise.all(puts)
        if (life === 2) {
          delivery ??= deliver()
          await until(async () => (await news.status('queue')).pending === 0)
          const all = [...accepted.values()].flat()
          t.same(
            all.filter(text => !done.has(text)),
            [],
            'nothing is lost',
          )
          const bad = all.filter(text => text.endsWith('bad'))
          const letters = await news.deadLetters('queue', { startAfter: '', limit: 1000 })
          t.same(letters.map(textOf).sort(byNumber), [...bad].sort(byNumber))
          for (const key of keys.filter(key => key !== '')) {
            const ofKey = letters.filter(letter => letter.key === key).map(textOf)
            t.same(ofKey, [...ofKey].sort(byNumber), 'dead letters, too')
          }
          t.same(await news.status('queue'), { pending: 0, pendingBytes: 0, deadLetters: bad.length })
        }
        await queue.stop()
      }
      t.same(faults, [])
    })
  }
})

function byNumber(a: string, b: string): number {
  return Number.parseInt(a, 10) - Number.parseInt(b, 10)
}
