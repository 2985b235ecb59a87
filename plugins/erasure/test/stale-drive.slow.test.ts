/** Drives restored from an old copy: their missing shards are known before anybody reads them. */
import { cp, rename, rm } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { type Derive, type Procedure, readWindowMs } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSeededRandom, until } from 'svc/testing'
import t, { type Test } from 'tap'
import type { Member } from '../member.ts'
import { tableByte } from '../set-keys.ts'
import { hasShards, headOf } from '../set-record.ts'
import { blobBytesIn, newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const keyOf = (name: string) => Buffer.from(`t${name}`)
const procedures: Readonly<Record<string, Procedure>> = {
  put: (tx, { name, blobs }: { readonly name: string; readonly blobs?: readonly string[] }, body) =>
    tx.put(keyOf(name), Buffer.from(name), { body, blobs }),
  delete: (tx, { name }: { readonly name: string }) => tx.delete(keyOf(name)),
}
const options = { procedures, derive, parityCount: 2 }
const { signal } = new AbortController()
const random = createSeededRandom(1)
const bytes = random.bytes(300_000)

async function putBlobs({ backend }: TestSet, prefix: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const writer = backend.createBlob(bytes.length)
    await writer.write(bytes)
    const { id } = await writer.finish()
    await backend.execute('put', { name: `${prefix}${i}`, blobs: [id] })
  }
}

async function heal({ repairLoop }: TestSet): Promise<void> {
  do {
    await repairLoop.bringBack(signal)
    await repairLoop.markMissingShards()
    while (await repairLoop.healSome(signal)) await repairLoop.markMissingShards()
  } while (repairLoop.unmarkedShardCount > 0)
}

/** Shards that are missing although no record and no note says so. */
async function liesOf({ set, healing }: TestSet): Promise<string[]> {
  const records = await set.leader().drive.scan(Buffer.from([0]), Buffer.from([tableByte]), cursor => {
    const found: { readonly key: Buffer; readonly record: Buffer }[] = []
    while (cursor.next()) found.push({ key: Buffer.from(cursor.key), record: Buffer.from(cursor.value) })
    return found
  })
  const lies: string[] = []
  for (const { key, record } of records) {
    const head = headOf(record)
    if (!hasShards(head)) continue
    for (const member of set.members) {
      if (head.generations[member.slot] !== member.generation) continue
      const state = await healing.lookAtShards(member, key, head)
      if (state !== 'ok') lies.push(`${key.subarray(1)} on ${member.slot} is ${state}`)
    }
  }
  return lies
}

async function requireWhole(t: Test, set: TestSet, what: string): Promise<void> {
  await set.repairLoop.bringBack(signal)
  while (set.repairLoop.unmarkedShardCount > 0) await set.repairLoop.markMissingShards()
  t.same(await liesOf(set), [], `${what}: what is said to be there is`)
  await heal(set)
  t.ok(set.set.isWhole)
  t.same((await set.ledger.read()).below, { records: 0, bytes: 0 }, `${what}: nothing is below`)
  t.same(await liesOf(set), [], `${what}: everything is there`)
}

async function copyOf(path: string): Promise<string> {
  await cp(path, `${path}.old`, { recursive: true })
  return `${path}.old`
}

async function putBack(path: string, copy: string): Promise<void> {
  await rm(path, { recursive: true })
  await rename(copy, path)
}

for (const smallCount of [10, 300, 5000]) {
  t.test(`an old copy that lacks ${smallCount} changes and some blobs`, async t => {
    const paths = await newFolders(t, 4)
    let set = await openTestSet(paths, options)
    t.teardown(() => set.stop())
    await putBlobs(set, 'first-', 3)
    await set.stop()
    const copy = await copyOf(paths[0]!)
    set = await openTestSet(paths, options)
    await putBlobs(set, 'second-', 5)
    await Promise.all(
      Array.from({ length: smallCount }, (_, i) =>
        set.backend.execute('put', { name: `small-${i}` }, bytes.subarray(0, 100)),
      ),
    )
    await heal(set)
    await set.stop()
    await putBack(paths[0]!, copy)
    set = await openTestSet(paths, options)
    await set.repairLoop.bringBack(signal)
    t.ok(set.repairLoop.unmarkedShardCount > 0, 'missing shards are reported at once')
    await set.repairLoop.markMissingShards()
    t.ok((await set.ledger.read()).below.records >= 5, 'and then marked in their records')
    await requireWhole(t, set, 'healed')
  })
}

t.test('a drive is restored from a copy made between catching up and healing', async t => {
  const paths = await newFolders(t, 4)
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  await putBlobs(set, 'first-', 3)
  await set.stop()
  await rename(paths[1]!, `${paths[1]}.away`)
  set = await openTestSet(paths, options)
  await putBlobs(set, 'without-', 6)
  await set.stop()
  await rename(`${paths[1]}.away`, paths[1]!)
  set = await openTestSet(paths, options)
  await set.repairLoop.bringBack(signal)
  await set.stop()
  const copy = await copyOf(paths[1]!)
  set = await openTestSet(paths, options)
  await heal(set)
  await set.stop()
  await putBack(paths[1]!, copy)
  set = await openTestSet(paths, options)
  await requireWhole(t, set, 'healed')
})

t.test('notes of missing shards survive a crash before the records are marked', async t => {
  const paths = await newFolders(t, 4)
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  await set.stop()
  const copy = await copyOf(paths[2]!)
  set = await openTestSet(paths, options)
  await putBlobs(set, 'lost-', 5)
  await set.stop()
  await putBack(paths[2]!, copy)
  set = await openTestSet(paths, options)
  await set.repairLoop.bringBack(signal)
  t.ok(set.set.isWhole, 'it has all records')
  // No record is marked yet.
  await set.stop()
  set = await openTestSet(paths, options)
  await set.repairLoop.bringBack(signal)
  t.ok(set.repairLoop.unmarkedShardCount > 0)
  await requireWhole(t, set, 'after all')
})

t.test('a copy of a drive is not another drive', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, options)
  await putBlobs(set, 'first-', 1)
  await set.stop()
  await rm(paths[1]!, { recursive: true })
  await cp(paths[0]!, paths[1]!, { recursive: true })
  await t.rejects(openTestSet(paths, options), { code: 'drive_foreign', message: /hold the same drive/ })
})

for (const failing of ['leader', 'follower']) {
  t.test(
    `a deletion that no quorum has takes no shard from the drive that has it, when the ${failing} fails`,
    async t => {
      const set = await openTestSet(await newFolders(t, 3), { ...options, parityCount: 1 })
      t.teardown(() => set.stop())
      const { members } = set.set
      const lose = (slot: number) => set.set.onLost(members[slot]!, new Error('it is lost for this test'))
      const writer = set.backend.createBlob(bytes.length)
      await writer.write(bytes)
      const blob = await writer.finish()
      await set.backend.execute('put', { name: 'kept', blobs: [blob.id] })
      const leader = set.set.leader() as Member
      const [away, follower] = members.filter(each => each !== leader)
      lose(away!.slot)
      // The leader alone has the change: it fails before it passes it on, or the other one fails when it gets it.
      const { drive } = failing === 'leader' ? leader : follower!
      const { execute } = drive
      drive.execute = async <Result>(...args: Parameters<typeof execute>): Promise<Result> => {
        if (failing === 'follower') throw Object.assign(new Error('it fails for this test'), { code: 'EIO' })
        const result = await execute.call(drive, ...args)
        lose(leader.slot)
        return result as Result
      }
      await t.rejects(set.backend.execute('delete', { name: 'kept' }), { code: 'unavailable' })
      drive.execute = execute
      await setTimeout(readWindowMs + 1000)
      if (failing === 'follower') {
        // The others go on without it, and have never had the deletion.
        lose(leader.slot)
        await rename(leader.path, `${leader.path}.away`)
        await set.repairLoop.bringBack(signal)
        await rename(`${leader.path}.away`, leader.path)
      }
      t.ok(await set.backend.get(keyOf('kept')), 'it is still there')
      await set.repairLoop.bringBack(signal)
      t.ok(set.set.isWhole)
      await set.repairLoop.markMissingShards()
      lose(away!.slot)
      t.ok(
        bytes.equals(await readBlob(set.backend, blob)),
        'it is read with the shard of the drive that had deleted it',
      )
      await set.repairLoop.bringBack(signal)
      await set.backend.execute('delete', { name: 'kept' })
      await requireWhole(t, set, 'afterwards')
    },
  )
}

t.test('a drive that comes back keeps the shards of a deletion that is still under way', async t => {
  const set = await openTestSet(await newFolders(t, 3), { ...options, parityCount: 1 })
  t.teardown(() => set.stop())
  await putBlobs(set, 'kept', 1)
  const leader = set.set.leader() as Member
  const [back, slow] = set.set.members.filter(each => each !== leader) as [Member, Member]
  t.equal(set.garbageOn(back.path), 'delete')
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const { execute } = slow.drive
  slow.drive.execute = async <Result>(...args: Parameters<typeof execute>): Promise<Result> => {
    await isReleased
    return (await execute.apply(slow.drive, args)) as Result
  }
  const deleting = set.backend.execute('delete', { name: 'kept0' })
  await until(async () => (await back.drive.get(keyOf('kept0'))) === undefined)
  set.set.onLost(back, new Error('it is lost for this test'))
  await set.repairLoop.bringBack(signal)
  t.equal(back.state, 'current')
  // It does not know these shards from this opening, and the two that have the deletion may still be lost.
  t.equal(set.garbageOn(back.path), 'later')
  release()
  await deleting
  t.equal(set.garbageOn(back.path), 'delete')
})

t.test('a deletion that no quorum had takes no shard after a start either, as long as no quorum is there', async t => {
  const paths = await newFolders(t, 4)
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  await putBlobs(set, 'kept', 1)
  const leader = set.set.leader() as Member
  const [first, ...others] = set.set.members.filter(each => each !== leader)
  for (const { drive } of [first!, ...others]) {
    drive.execute = async () => {
      throw Object.assign(new Error('it fails for this test'), { code: 'EIO' })
    }
  }
  await t.rejects(set.backend.execute('delete', { name: 'kept0' }), { code: 'unavailable' })
  await set.stop()
  for (const { path } of others) await rename(path, `${path}.away`)
  set = await openTestSet(paths, options)
  await set.repairLoop.bringBack(signal)
  t.equal(set.set.currentCount, 2, 'enough to read, not enough to write')
  t.equal(await set.backend.get(keyOf('kept0')), undefined, 'those that are there have the deletion')
  const bytesBefore = await Promise.all([leader.path, first!.path].map(blobBytesIn))
  await setTimeout(readWindowMs + 1000)
  t.same(await Promise.all([leader.path, first!.path].map(blobBytesIn)), bytesBefore)
  t.ok(
    bytesBefore.every(size => size > 0),
    'the shards are kept',
  )
  await set.stop()
  // The others, which have never had the deletion, and then the one that took it over.
  for (const { path } of others) await rename(`${path}.away`, path)
  for (const { path } of [leader, first!]) await rename(path, `${path}.away`)
  set = await openTestSet(paths, options)
  await rename(`${first!.path}.away`, first!.path)
  await set.repairLoop.bringBack(signal)
  t.equal(set.set.currentCount, 3)
  t.ok(await set.backend.get(keyOf('kept0')))
  await set.repairLoop.markMissingShards()
  t.same(await liesOf(set), [])
  await set.stop()
  await rename(`${leader.path}.away`, leader.path)
  set = await openTestSet(paths, options)
  await requireWhole(t, set, 'afterwards')
})
