/** Missing shards are marked in bounded changes, and only in records that say that they are there. */
import { globSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'svc/kernel'
import type { Derive, Procedure, RebuildProgress, Transaction } from 'svc/plugins/storage/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import type { AnswerWatch } from '../answer-watch.ts'
import { createRedundantSet } from '../redundancy.ts'
import { RepairLoop } from '../repair-loop.ts'
import { headOf } from '../set-record.ts'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const keyOf = (name: string) => Buffer.from(`o${name}`)
const procedures: Record<string, Procedure> = {
  put: (tx: Transaction, { name, blobs }: { name: string; blobs: readonly string[] }, body) => {
    tx.put(keyOf(name), Buffer.from('value'), { body, blobs })
  },
}
const options = { procedures, derive, parityCount: 1 }
const recordCount = 600

t.test('many missing shards are marked in bounded changes', async t => {
  const open = await openTestSet(await newFolders(t, 3), options)
  t.teardown(() => open.stop())
  const { set, repairLoop, ledger, backend } = open
  const names = Array.from({ length: recordCount }, (_, i) => `n${i}`)
  await Promise.all(names.map(name => backend.execute('put', { name, blobs: [] }, Buffer.alloc(600, name))))
  for (const name of names) {
    const key = keyOf(name)
    const { identity } = headOf((await set.leader().drive.get(key))!.value)
    set.onMissingShard({ slot: 1, key, identity })
  }
  const sizes: number[] = []
  const mark = set.mark.bind(set)
  set.mark = marks => {
    // Then writing fails: the shards that are not marked yet must be kept.
    if (sizes.length === 1) {
      set.mark = mark
      return Promise.reject(new Error('it cannot be written for this test'))
    }
    sizes.push(marks.length)
    return mark(marks)
  }
  await t.rejects(repairLoop.markMissingShards(), /cannot be written/)
  t.ok(sizes[0]! > 0 && sizes[0]! <= 256, 'a change is bounded')
  t.equal((await ledger.read()).below.records, sizes[0], 'marks that were committed stay')
  await repairLoop.markMissingShards()
  t.equal((await ledger.read()).below.records, recordCount, 'the others are marked later')
})

t.test('a drive that comes back lacks nothing that anybody has found', async t => {
  const open = await openTestSet(await newFolders(t, 3), options)
  t.teardown(() => open.stop())
  const { set, repairLoop, backend } = open
  const redundant = createRedundantSet(open)
  const countsOf = () => [redundant.unmarkedShardCount, redundant.foundShardCount]
  await backend.execute('put', { name: 'one', blobs: [] }, Buffer.alloc(600, 1))
  const key = keyOf('one')
  const { identity } = headOf((await set.leader().drive.get(key))!.value)
  await repairLoop.markMissingShards()
  t.same(countsOf(), [0, 0])
  set.onReturned(set.members[1]!, false)
  t.equal(set.members[1]!.state, 'behind')
  t.same(countsOf(), [1, 0], 'it may have noted something')
  set.onMissingShard({ slot: 1, key, identity })
  t.same(countsOf(), [2, 1])
  await repairLoop.bringBack(new AbortController().signal)
  await repairLoop.markMissingShards()
  t.equal(set.members[1]!.state, 'current')
  t.same(countsOf(), [0, 0])
})

t.test('a replaced drive needs no marks, and all of its shards are rebuilt', async t => {
  const paths = await newFolders(t, 3)
  let open = await openTestSet(paths, options)
  t.teardown(() => open.stop())
  for (let i = 0; i < 20; i++) await open.backend.execute('put', { name: `n${i}`, blobs: [] }, Buffer.alloc(600, 1))
  const bytes = Buffer.alloc(200_000, 2)
  const writer = open.backend.createBlob(bytes.length)
  await writer.write(bytes)
  const { id } = await writer.finish()
  await open.backend.execute('put', { name: 'blob', blobs: [id] })
  await open.stop()
  await rm(paths[1]!, { recursive: true })
  const [empty] = await newFolders(t, 1)
  await mkdir(empty!)
  open = await openTestSet([paths[0]!, empty!, paths[2]!], options)
  const { set, repairLoop, ledger } = open
  const { signal } = new AbortController()
  t.ok(set.isWhole, 'the empty drive has all records')
  t.equal((await ledger.read()).below.records, 21, 'the ledger has all records')
  t.strictSame(set.missingShards.take(), [], 'without marks in any record')
  // A reader has found a missing shard before it is rebuilt.
  set.onMissingShard({ slot: 1, blobId: id })
  let rebuild: RebuildProgress | undefined
  for (let isMore = true; isMore; rebuild = (await set.status())[1]!.place!.rebuild ?? rebuild) {
    isMore = await repairLoop.healSome(signal)
  }
  const shardBytes = { healedBytes: 20 * 300 + 100_000, failedBytes: 0 }
  t.match(rebuild, { healed: 21, failed: 0, retried: 0, ...shardBytes }, 'its progress is told')
  t.ok(rebuild!.updatedMs >= rebuild!.startedMs)
  t.strictSame(
    (await set.status()).map(({ place }) => place!.rebuild),
    [undefined, undefined, undefined],
    'until it is done',
  )
  t.strictSame(set.missingShards.take(), [], 'a rebuilt shard is no longer reported as missing')
  t.equal((await ledger.read()).below.records, 0, 'all are healed')
  t.match(repairLoop.counts, { healed: 21, failed: 0 })
})

t.test('failed heals are retried after growing pauses, up to the maximum', async t => {
  const paths = await newFolders(t, 3)
  const { set, healing, repairLoop, ledger, backend, stop } = await openTestSet(paths, options)
  t.teardown(stop)
  const writer = backend.createBlob(200_000)
  await writer.write(Buffer.alloc(200_000, 2))
  const { id } = await writer.finish()
  await backend.execute('put', { name: 'lost', blobs: [id] })
  for (const member of set.members.slice(0, 2)) {
    const files = globSync('blobs/*/*', { cwd: member.path })
    t.equal(files.length, 1)
    await rm(join(member.path, files[0]!))
    set.onMissingShard({ slot: member.slot, blobId: id })
  }
  await repairLoop.markMissingShards()
  const clock = createFakeClock(0)
  const waits: unknown[] = []
  const warn = ({ againInMs }: { againInMs: number }) => waits.push(againInMs)
  const log = { warn, info: () => undefined } as unknown as Logger
  const nowhere = () => Promise.reject(new Error('nobody looks'))
  const unused = { watch: undefined as unknown as AnswerWatch, look: nowhere, isThere: nowhere, isMount: nowhere }
  const loop = new RepairLoop({ set, healing, ledger, clock, log, retryMsMax: 50_000, ...unused })
  const { signal } = new AbortController()
  const attempts: number[] = []
  for (let ms = 0; ms < 149_000; ms += 1000, await clock.advance(1000)) {
    const before = waits.length
    await loop.healSome(signal)
    const isHealing = (await set.status()).some(({ place }) => place!.isHealing)
    if (isHealing) t.fail('no drive is being rebuilt whose shards cannot be')
    if (waits.length > before) attempts.push(ms)
  }
  t.strictSame(waits, [15_000, 30_000, 50_000, 50_000])
  t.strictSame(attempts, [0, 16_000, 47_000, 98_000])
  t.equal(loop.failingCount, 1)
  await clock.advance(120_000)
  t.equal(loop.failingCount, 0, 'of a record that is gone nothing is remembered')
})
