/** Blob references and their remote references under concurrent changes and unreachable sets: none is missing, none is left over. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { contractDerive, contractProcedures } from 'svc/plugins/storage/contract'
import { readBlob } from 'svc/plugins/storage/testing'
import { SimulatedTime } from 'svc/testing'
import t, { type Test } from 'tap'
import { ReferenceReleaser } from '../reference-releaser.ts'
import { referenceFromKey, remoteReferenceEnd, remoteReferenceStart } from '../remote-references.ts'
import { newFolder, openTestPools, pathsIn, type TestPools } from './fixtures/open-pools.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const procedures: typeof contractProcedures = {
  ...contractProcedures,
  'test.copy': (tx, { from, to, isRefused }: { from: Buffer; to: Buffer; isRefused?: boolean }) => {
    const source = tx.get(Buffer.from(from))
    if (source === undefined) return false
    tx.put(Buffer.from(to), source.value, { blobs: Buffer.from(source.value).toString().split(',') })
    if (isRefused === true) throw new Error('refused')
    return true
  },
}
const keyIn = (bucket: string, name = 'key') => Buffer.from(`t${bucket}\0${name}`)
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

async function openPools(t: Test, driveCounts: readonly number[] = [2, 2]) {
  const folder = await newFolder(t)
  const shapes = driveCounts.map((count, i) => pathsIn(folder, 'def'[i]!, count))
  const pools = await openTestPools(shapes, { derive: contractDerive, procedures })
  t.teardown(() => pools.stop())
  pools.placement.exclude(0)
  return { ...pools, folder }
}

const write = async (pools: TestPools, group: string, size = 140_000) => {
  const writer = pools.backend.createBlob(size, { for: keyIn(group) })
  await writer.write(Buffer.alloc(size, 'x'))
  return writer.finish()
}
/** A blob in each of the two sets without records. */
async function writeInEach(pools: TestPools): Promise<string[]> {
  const ids: string[] = []
  for (const other of [2, 1]) {
    const before = pools.placement.cells[other]!
    pools.placement.exclude(other)
    ids.push((await write(pools, 'a')).id)
    pools.placement.cells[other] = before
  }
  return ids
}

const put = (pools: TestPools, key: Buffer, ...ids: string[]) =>
  pools.backend.execute('contract.steps', [{ put: key, value: ids.join(','), blobs: ids }])
const copy = (pools: TestPools, from: Buffer, to: Buffer) => pools.backend.execute<boolean>('test.copy', { from, to })
const releasesDone = async (pools: TestPools) => {
  do await sleep(20)
  while (pools.releaser.count > 0)
}
const remoteReferences = (pools: TestPools, number = 1) =>
  pools.sets[number]!.backend.scan(remoteReferenceStart, remoteReferenceEnd, cursor => {
    const found: string[] = []
    while (cursor.next()) found.push(referenceFromKey(cursor.key).slice(26))
    return found
  })
const wrap = (
  pools: TestPools,
  number: number,
  around: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
) => {
  const { backend } = pools.sets[number]!
  const real = backend.execute.bind(backend)
  ;(backend as { execute: unknown }).execute = (name: string, ...rest: [unknown]) =>
    around(name, () => real(name, ...rest))
}

t.test('two copies into one bucket keep both references when one is acquired after the other is answered', async t => {
  const pools = await openPools(t)
  const ref = await write(pools, 'a')
  await put(pools, keyIn('a'), ref.id)
  let rounds = 0
  let first!: () => void
  const firstIsDone = new Promise<void>(resolve => {
    first = resolve
  })
  wrap(pools, 1, async (name, run) => {
    if (name === 'pools.acquire' && ++rounds === 2) await firstIsDone
    return run()
  })
  const one = copy(pools, keyIn('a'), keyIn('b', 'one')).then(first)
  const two = copy(pools, keyIn('a'), keyIn('b', 'two'))
  await Promise.all([one, two])
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), ['a', 'b'], 'both have their remote reference')
  await pools.backend.execute('contract.steps', [{ delete: keyIn('a') }])
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), ['b'], 'records of b keep the blob')
  await t.resolves(readBlob(pools.backend, ref))
})

t.test('concurrent overwrites of one key leave no orphaned remote reference', async t => {
  const pools = await openPools(t)
  const refs = await Promise.all(Array.from({ length: 20 }, () => write(pools, 'a')))
  await Promise.all(refs.map(ref => put(pools, keyIn('a'), ref.id)))
  await releasesDone(pools)
  t.equal((await remoteReferences(pools)).length, 1, 'only the remote reference of the last')
})

t.test('a copy that cannot acquire a reference in one of two sets leaves none behind', async t => {
  const pools = await openPools(t, [2, 2, 2])
  const ids = await writeInEach(pools)
  await put(pools, keyIn('a'), ...ids)
  wrap(pools, 2, (name, run) =>
    name === 'pools.acquire' ? Promise.reject(Object.assign(new Error('no quorum'), { code: 'unavailable' })) : run(),
  )
  await t.rejects(copy(pools, keyIn('a'), keyIn('b')))
  await releasesDone(pools)
  t.strictSame(
    [await remoteReferences(pools, 1), await remoteReferences(pools, 2)],
    [['a'], ['a']],
    'nothing is left of the copy',
  )
})

t.test('releases for a set without quorum are retried at a bounded rate', async t => {
  let attempts = 0
  const random = { integer: () => 50, float: () => 0.5, bytes: (n: number) => Buffer.alloc(n) }
  const time = new SimulatedTime(random as never, 100)
  const backend = {
    execute: async () => {
      attempts++
      throw new Error('away')
    },
  }
  const set = { backend, number: 1, pool: 1, set: 0 }
  const log = { debug: () => undefined }
  const releaser = new ReferenceReleaser({
    sets: [{ ...set, number: 0 }, set] as never,
    clock: time.clock,
    log: log as never,
  })
  for (let i = 0; i < 500; i++) {
    releaser.add([`1${String(i).padStart(25, '0')}`])
    await time.tick()
  }
  const before = attempts
  const from = time.nowMs
  while (time.nowMs < from + 20_000) await time.tick()
  t.ok(attempts - before <= 20, `${attempts - before} attempts in 20 s after 500 deletions in 25 s`)
})

t.test('a copy in another bucket outlives its source under concurrent changes', async t => {
  const pools = await openPools(t)
  for (let round = 0; round < 12; round++) {
    const ref = await write(pools, 'a')
    await put(pools, keyIn('a'), ref.id)
    await copy(pools, keyIn('a'), keyIn('b'))
    const drop = (bucket: string) => pools.backend.execute('contract.steps', [{ delete: keyIn(bucket) }])
    // The last record of `b` is deleted while copies from `a` to `b` run; `a` may be deleted too.
    await Promise.all([
      copy(pools, keyIn('a'), keyIn('c')),
      drop('b'),
      copy(pools, keyIn('a'), keyIn('b')),
      copy(pools, keyIn('c'), keyIn('d')),
      ...(round % 3 === 0 ? [drop('a')] : []),
      copy(pools, keyIn('b'), keyIn('d')),
    ])
    await releasesDone(pools)
    const left: string[] = []
    for (const bucket of ['a', 'b', 'c', 'd']) {
      if ((await pools.backend.get(keyIn(bucket))) !== undefined) left.push(bucket)
    }
    if (round % 3 !== 0) t.ok(left.includes('a') && left.length > 1, 'there are copies')
    t.strictSame((await remoteReferences(pools)).sort(), left)
    if (left.length > 0) await t.resolves(readBlob(pools.backend, ref))
    for (const bucket of left) await drop(bucket)
    await releasesDone(pools)
    t.strictSame(await remoteReferences(pools), [])
  }
})

t.test(
  'a reference that another transaction uses while its requester fails is released with that transaction',
  async t => {
    const pools = await openPools(t, [2, 2, 2])
    const ids = await writeInEach(pools)
    await put(pools, keyIn('a'), ...ids)
    await put(pools, keyIn('a', 'first'), ids[0]!)
    const asking = Promise.withResolvers<void>()
    const failing = Promise.withResolvers<void>()
    wrap(pools, 2, async (name, run) => {
      if (name !== 'pools.acquire') return run()
      asking.resolve()
      await failing.promise
      throw Object.assign(new Error('no quorum'), { code: 'unavailable' })
    })
    const one = copy(pools, keyIn('a'), keyIn('b'))
    one.catch(() => undefined)
    await asking.promise
    const args = { from: keyIn('a', 'first'), to: keyIn('b', 'other'), isRefused: true }
    const two = pools.backend.execute('test.copy', args)
    two.catch(() => undefined)
    await sleep(50)
    failing.resolve()
    await t.rejects(one)
    await t.rejects(two)
    await releasesDone(pools)
    t.strictSame(await remoteReferences(pools), ['a'])
  },
)

/** Takes drives of the record set offline. */
function failDrives(pools: TestPools, slots: readonly number[]): void {
  const { set } = pools.opened[0]!
  for (const slot of slots) set.onLost(set.members[slot]!, new Error('away'))
}
const bringBack = (pools: TestPools) => pools.opened[0]!.repairLoop.bringBack(new AbortController().signal)
const filesIn = async (folder: string) => {
  const entries = await readdir(join(folder, 'e1', 'blobs'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).length
}
const noQuorum = { code: 'unavailable', message: '1 of 3 drives have all records; 2 are needed to write.' }

t.test('without the write quorum of the record set no body is written to another set', async t => {
  const pools = await openPools(t, [3, 2])
  const { backend, folder } = pools
  await put(pools, keyIn('a'), (await write(pools, 'a')).id)
  const before = await filesIn(folder)
  const early = backend.createBlob(140_000, { for: keyIn('a') })
  await early.write(Buffer.alloc(140_000))
  failDrives(pools, [1, 2])
  t.throws(() => backend.createBlob(140_000, { for: keyIn('a') }), noQuorum)
  await t.rejects(early.finish(), noQuorum, 'one that was begun before is refused at its end')
  await early.abort()
  // Deletion is not waited for.
  for (let tries = 0; tries < 500 && (await filesIn(folder)) !== before; tries++) await sleep(10)
  t.equal(await filesIn(folder), before, 'its bytes are deleted, without a restart')
  t.equal((await remoteReferences(pools)).length, 1)
  await bringBack(pools)
  await put(pools, keyIn('b'), (await write(pools, 'b')).id)
})

t.test('a body whose record is refused for want of drives is deleted when they are back', async t => {
  const pools = await openPools(t, [3, 2])
  const writer = pools.backend.createBlob(140_000, { for: keyIn('a') })
  await writer.write(Buffer.alloc(140_000))
  const { id } = await writer.finish()
  failDrives(pools, [1, 2])
  await t.rejects(put(pools, keyIn('a'), id), noQuorum)
  await writer.abandon!()
  await sleep(50)
  t.strictSame(await remoteReferences(pools), ['a'], 'nobody can tell yet')
  await bringBack(pools)
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), [])
})

t.test('what a change in doubt referred to is deleted once it is known that the change was not made', async t => {
  const pools = await openPools(t, [3, 2])
  const old = await write(pools, 'a')
  await put(pools, keyIn('a'), old.id)
  const writer = pools.backend.createBlob(140_000, { for: keyIn('a') })
  await writer.write(Buffer.alloc(140_000))
  const { id } = await writer.finish()
  const { set } = pools.opened[0]!
  const leader = set.leader()
  const real = leader.drive.execute
  leader.drive.execute = (async (name: string, ...rest: [unknown]) => {
    const result = await real.call(leader.drive, name, ...rest)
    if (name === 'erasure.run') throw Object.assign(new Error('it fails right after the write'), { code: 'faulty' })
    return result
  }) as never
  await t.rejects(put(pools, keyIn('a'), id), { code: 'unavailable' })
  leader.drive.execute = real
  await writer.abandon!()
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), ['a'], 'the others go on without it')
  await bringBack(pools)
  t.equal(set.currentCount, 3)
  await put(pools, keyIn('b'))
  t.equal(Buffer.from((await pools.backend.get(keyIn('a')))!.value).toString(), old.id)
  await t.resolves(readBlob(pools.backend, old), 'what it would have replaced stays')
})

t.test('what a change in doubt refers to stays if the change was made, and what it replaced is deleted', async t => {
  const pools = await openPools(t, [3, 2])
  const old = await write(pools, 'a')
  await put(pools, keyIn('a'), old.id)
  const writer = pools.backend.createBlob(140_000, { for: keyIn('a') })
  await writer.write(Buffer.alloc(140_000, 'x'))
  const ref = await writer.finish()
  const { set } = pools.opened[0]!
  const leader = set.leader()
  const followers = set.members.filter(member => member !== leader)
  const reals = followers.map(({ drive }) => drive.execute)
  for (const { drive } of followers) {
    drive.execute = () => Promise.reject(Object.assign(new Error('away'), { code: 'faulty' }))
  }
  await t.rejects(put(pools, keyIn('a'), ref.id), { code: 'unavailable', message: /may become visible later/ })
  for (const [i, { drive }] of followers.entries()) drive.execute = reals[i]!
  await writer.abandon!()
  await sleep(50)
  t.strictSame(await remoteReferences(pools), ['a', 'a'], 'nobody can tell yet')
  await bringBack(pools)
  await releasesDone(pools)
  t.equal(Buffer.from((await pools.backend.get(keyIn('a')))!.value).toString(), ref.id)
  t.strictSame(await remoteReferences(pools), ['a'])
  await t.resolves(readBlob(pools.backend, ref))
  await pools.backend.execute('contract.steps', [{ delete: keyIn('a') }])
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), [])
})

t.test('an aborted blob leaves no remote reference', async t => {
  const pools = await openPools(t)
  const writer = pools.backend.createBlob(140_000)
  await writer.write(Buffer.alloc(140_000))
  await writer.finish()
  t.equal((await remoteReferences(pools)).length, 1)
  await writer.abort()
  await releasesDone(pools)
  t.strictSame(await remoteReferences(pools), [])
})
