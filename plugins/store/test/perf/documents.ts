/**
 * Cost of reads and writes of documents, in one thread over a real drive: `node --conditions=svc-src plugins/store/test/perf/documents.ts`.
 */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import type { Collection } from '../../api.ts'
import { startStore } from '../start.ts'

const count = 10_000
const User = Type.Object({
  name: Type.String(),
  groups: Type.Array(Type.String()),
  policies: Type.Array(Type.String()),
  isEnabled: Type.Boolean(),
})
const Key = Type.Object({ user: Type.String(), secret: Type.String({ secret: true }) })
const user = (i: number) => ({
  name: `User number ${i}`,
  groups: ['staff', 'admins'],
  policies: ['readwrite', 'diagnostics'],
  isEnabled: true,
})

const figures: Record<string, string> = {}

async function microseconds(times: number, work: () => unknown): Promise<number> {
  const start = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - start) / 1000 / times
}

async function listAll(collection: Collection<unknown>): Promise<void> {
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    startAfter = (await collection.list({ startAfter })).next
  }
}

async function putMany(total: number, put: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < total; i += 100) await Promise.all(Array.from({ length: 100 }, (_, j) => put(i + j)))
}

t.test('documents', async t => {
  const { collections, folder } = await startStore(t, store => ({
    users: store.collection({ name: 'user', version: 1, schema: User }),
    keys: store.collection({ name: 'key', version: 1, schema: Key }),
  }))
  const { users, keys } = collections
  const file = await open(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(4096)
  const sync = await microseconds(300, async () => {
    for (let i = 0; i < 300; i++) {
      await file.write(page, 0, 4096, i * 4096)
      await file.datasync()
    }
  })
  await file.close()
  figures['4 KiB write and fdatasync'] = `${sync.toFixed(0)} µs`
  await putMany(300, i => users.put(`warm-${i}`, user(i)))
  const one = await microseconds(300, async () => {
    for (let i = 0; i < 300; i++) await users.put(`one-${i}`, user(i))
  })
  figures['put, one after the other'] = `${one.toFixed(0)} µs`
  const before = process.cpuUsage()
  const many = await microseconds(count, () => putMany(count, i => users.put(`user-${i}`, user(i))))
  const used = process.cpuUsage(before)
  figures['put, 100 at once'] =
    `${(1e6 / many).toFixed(0)}/s, ${((used.user + used.system) / count).toFixed(0)} µs CPU each`
  // Waits until the index has all records.
  await new Promise(resolve => setTimeout(resolve, 2500))
  const cold = await microseconds(count, async () => {
    for (let i = 0; i < count; i++) await users.get(`user-${i}`)
  })
  figures['get, first'] = `${cold.toFixed(1)} µs`
  const ids = Array.from({ length: 3000 }, (_, i) => `user-${i}`)
  for (const id of ids) await users.get(id)
  for (let round = 0; round < 3; round++) {
    const hot = await microseconds(3e6, () => {
      for (let i = 0; i < 3e6; i++) users.get('user-7')
    })
    const spread = await microseconds(ids.length * 300, () => {
      for (let i = 0; i < 300; i++) for (const id of ids) users.get(id)
    })
    figures['get, remembered'] =
      `${(hot * 1000).toFixed(0)} ns one document, ${(spread * 1000).toFixed(0)} ns among 3000`
  }
  figures[`list of ${count + 600} documents`] =
    `${((await microseconds(1, () => listAll(users))) / 1000).toFixed(0)} ms`
  await putMany(2000, i => keys.put(`key-${i}`, { user: 'u', secret: 's'.repeat(40) }))
  figures['list of 2000 with a sealed field'] = `${((await microseconds(1, () => listAll(keys))) / 1000).toFixed(0)} ms`
})

t.teardown(() => {
  for (const [name, figure] of Object.entries(figures)) t.comment(`${name}: ${figure}`)
})
