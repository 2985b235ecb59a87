/** The outbox over a real drive: the stored events, their order, and their deletion. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import standard from 'svc/plugins/standard'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { decodeEvent, encodeEvent } from '../kept-event.ts'
import { type KeptEvent, sequencerOf } from '../message.ts'
import { createOutbox, deriveCount, type Outbox, tableByte } from '../outbox.ts'

const origin = { principalId: 'alice', sourceAddress: '::1', requestId: 'A', userAgent: 'x' }
const eventOf = (key: string, timeMs: number): KeptEvent => ({
  name: 'ObjectRemoved:Delete',
  timeMs,
  bucket: 'bucket',
  key,
  sequencer: sequencerOf(timeMs * 2048, 0),
  versionId: undefined,
  object: undefined,
  origin,
})

let outbox: Outbox
const keeper = definePlugin({
  name: 'test-keeper',
  requires: ['storage'],
  setup({ services: { storage } }) {
    outbox = createOutbox(storage)
    storage.derive(tableByte, deriveCount)
    storage.define(outbox.procedures)
    storage.define({
      'test-keeper.put': (tx, keys: readonly string[]) => {
        for (const [number, key] of keys.entries()) outbox.put(tx, number, eventOf(key, tx.nowMs))
        return tx.nowMs
      },
    })
    return {}
  },
})

const folder = await mkdtemp(join(tmpdir(), 'svc-outbox-'))
const kernel = await startKernel({
  plugins: [...standard.filter(({ name }) => name === 'storage' || name === 'drive'), keeper],
  config: { storage: { endpoints: [folder] } },
})
t.teardown(async () => {
  await kernel.stop()
  await rm(folder, { recursive: true })
})
const put = (...keys: readonly string[]) => kernel.services.storage.execute<number>('test-keeper.put', keys)
const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

async function keysOf(range: { fromMs: number; toMs: number }, pageSize = 3): Promise<readonly string[]> {
  const keys: string[] = []
  let after: Buffer | undefined
  do {
    const page = await outbox.read(range, after, pageSize)
    if (page.events.length > pageSize) throw new Error(`a page of ${page.events.length}`)
    keys.push(...page.events.map(({ key }) => key))
    after = page.next
  } while (after !== undefined)
  return keys
}

t.test('events are read in the order of their commits, by time, in pages', async t => {
  await put('a', 'b', 'c')
  const middleMs = await put('d')
  // Ranges of time consist of whole milliseconds, so the next events must have a later one.
  while (Date.now() <= middleMs) await new Promise(done => setTimeout(done, 1))
  const lastMs = await put('e', 'f')
  t.same(await keysOf(all), ['a', 'b', 'c', 'd', 'e', 'f'])
  t.same(await keysOf(all, 1000), ['a', 'b', 'c', 'd', 'e', 'f'])
  t.same(await keysOf({ fromMs: lastMs, toMs: lastMs + 1 }), ['e', 'f'])
  t.same((await keysOf({ fromMs: 0, toMs: middleMs + 1 })).includes('d'), true)
  t.same((await keysOf({ fromMs: 0, toMs: middleMs + 1 })).includes('e'), false)
  t.same(await keysOf({ fromMs: lastMs, toMs: lastMs }), [])
})

t.test('events that are too old are deleted, and the oldest ones beyond the limit', async t => {
  t.equal(await outbox.trim(0, 1000), 0)
  t.equal(await outbox.trim(0, 4), 2)
  t.same(await keysOf(all), ['c', 'd', 'e', 'f'])
  t.equal(await outbox.trim(Date.now() + 1000, 4), 4)
  t.same(await keysOf(all), [])
  await put(...Array.from({ length: 1200 }, (_, i) => `many-${i}`))
  let trimmed = 0
  for (let more = 1; more > 0; trimmed += more) more = await outbox.trim(Date.now() + 1000, 10)
  t.equal(trimmed, 1200)
  await put('next')
  t.same(await keysOf(all), ['next'], 'what comes later is kept')
  t.equal(await outbox.trim(0, 1000), 0)
})

t.test('an event is decoded as it was stored', t => {
  const user = JSON.parse('{"X-Amz-Meta-A":"1","__proto__":"2"}')
  const object = { sizeBytes: 2 ** 40, etag: 'e-3', contentType: undefined, userMetadata: user }
  const event: KeptEvent = { ...eventOf('ключ "\n\u0000', 5), versionId: 'null', object }
  const decoded = decodeEvent(encodeEvent(event, 'rule'))
  t.equal(JSON.stringify(decoded), JSON.stringify({ event, configurationId: 'rule' }))
  t.equal(decoded.configurationId, 'rule')
  t.equal(decodeEvent(encodeEvent(eventOf('k', 1))).configurationId, '')
  t.ok(sequencerOf(5, 1) > sequencerOf(5, 0) && sequencerOf(6, 0) > sequencerOf(5, 0xffff))
  t.match(sequencerOf(Date.now() * 2048, 3), /^[0-9A-F]{14}0003$/)
  t.end()
})
