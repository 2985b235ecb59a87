/** Cutting drives into sets, recognizing sets at a start, and releasing references. */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobRef } from 'svc/plugins/storage/api'
import { contractDerive, contractProcedures } from 'svc/plugins/storage/contract'
import { readBlob } from 'svc/plugins/storage/testing'
import t from 'tap'
import { blobIdFrom, idInSet, isElsewhere, setOfBlob, setsMax } from '../blob-ids.ts'
import { blobOfReference, blobReferenceOf, unknownGroup } from '../blob-references.ts'
import { cutPools, poolProblems, setSizeOf } from '../endpoints.ts'
import { procedure } from '../procedures.ts'
import { decodeReferences, encodeReferences, referencesKey } from '../record-references.ts'
import {
  encodeRemoteReference,
  isNewer,
  isOfRun,
  referenceFromKey,
  remoteReferenceEnd,
  remoteReferenceStart,
} from '../remote-references.ts'
import { newFolder, openTestPools, pathsIn, type TestPools } from './fixtures/open-pools.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const options = { procedures: contractProcedures, derive: contractDerive }
const keyOf = (name: string) => Buffer.from(`t${name}`)

async function writeBlob({ backend }: TestPools, bytes: Buffer) {
  const writer = backend.createBlob(bytes.length)
  await writer.write(bytes)
  return { writer, ref: await writer.finish() }
}

const put = ({ backend }: TestPools, name: string, ...blobs: string[]) =>
  backend.execute('contract.steps', [{ put: name, value: name, blobs }])
/** Waits until no remote reference of the blob is left. */
async function isGone({ sets, releaser }: TestPools, { id }: BlobRef): Promise<boolean> {
  while (releaser.count > 0) await new Promise(resolve => setTimeout(resolve, 5))
  return sets[setOfBlob(id)]!.backend.scan(remoteReferenceStart, remoteReferenceEnd, cursor => {
    while (cursor.next()) if (blobOfReference(referenceFromKey(cursor.key)) === idInSet(id)) return false
    return true
  })
}

const remove = ({ backend }: TestPools, name: string) => backend.execute('contract.steps', [{ delete: name }])

t.test('drives are cut into the largest equal sets', async t => {
  const sizes = [1, 2, 3, 16, 17, 18, 20, 22, 24, 31, 32, 34, 45, 48, 64, 128].map(count => [count, setSizeOf(count)])
  t.strictSame(sizes, [
    [1, undefined],
    [2, 2],
    [3, 3],
    [16, 16],
    [17, undefined],
    [18, 9],
    [20, 10],
    [22, 11],
    [24, 12],
    [31, undefined],
    [32, 16],
    [34, 2],
    [45, 15],
    [48, 16],
    [64, 16],
    [128, 16],
  ])
  const [first, second] = [pathsIn('', 'd', 24), pathsIn('', 'e', 3)]
  t.strictSame(
    cutPools([first, second]).map(({ argument, paths }) => [argument, paths.length, paths[0]]),
    [
      [0, 12, 'd1'],
      [0, 12, 'd13'],
      [1, 3, 'e1'],
    ],
  )
  t.strictSame(poolProblems([first, second]), [])
  t.match(poolProblems([pathsIn('', 'd', 19)]), [/d1 to d19 has 19 drives.*Name 18 or 20 drives/])
  t.match(poolProblems([pathsIn('', 'd', 66)]), [], 'sets of 11')
  t.match(poolProblems(Array.from({ length: 33 }, (_, i) => pathsIn('', `p${i}-`, 2))), [/33 sets; there may be 32/])
})

t.test('a blob id says its set, and is converted to the id within it', async t => {
  const id = '01hf7yaw82wdb431pq34k2rzja'
  t.notOk(isElsewhere(id))
  t.equal(setOfBlob(id), 0)
  const ids = Array.from({ length: setsMax }, (_, number) => blobIdFrom(id, number))
  t.equal(new Set(ids).size, setsMax)
  t.strictSame(ids.map(setOfBlob), [...ids.keys()])
  t.ok(ids.every(each => idInSet(each) === id && each.length === 26))
  const references = ids.map((each, size) => ({ id: each, size: size * 2 ** 40 }))
  const place = referencesKey(Buffer.from('obucket\0key'))
  const entries = references.map(reference => ({ ...reference, reference: `${reference.id}bucket` }))
  t.strictSame(decodeReferences(place, encodeReferences(references)), entries)
  t.throws(() => decodeReferences(place, Buffer.from([3, 0, 0, 0])), { code: 'corrupt' })
  const longest = Buffer.alloc(3900, 'k')
  t.ok(referencesKey(longest).length <= 3900)
  const other = Buffer.from(longest)
  other[3899] = 0
  t.notOk(referencesKey(longest).equals(referencesKey(other)))
})

t.test('sets are recognized in any order, and a missing set is refused', async t => {
  const folder = await newFolder(t)
  const [d, e, f] = [pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 2), pathsIn(folder, 'f', 2)]
  let pools = await openTestPools([d], options)
  await put(pools, 'alone')
  await pools.stop()

  pools = await openTestPools([e, d], options)
  t.ok(await pools.backend.get(keyOf('alone')), 'the set that had records has them')
  const paths = async () => (await pools.backend.drives()).map(({ path, place }) => [path, place?.pool, place?.set])
  const placed = [
    [d[0], 0, 0],
    [d[1], 0, 0],
    [e[0], 1, 0],
    [e[1], 1, 0],
  ]
  t.strictSame(await paths(), placed)
  t.equal(new Set((await pools.backend.drives()).map(({ deploymentId }) => deploymentId)).size, 1)
  pools.placement.exclude(0)
  const bytes = Buffer.alloc(200_000, 'e')
  const { ref } = await writeBlob(pools, bytes)
  t.equal(setOfBlob(ref.id), 1)
  await put(pools, 'there', ref.id)
  await pools.stop()

  await t.rejects(openTestPools([d], options), { code: 'pool_missing' })
  await t.rejects(openTestPools([e], options), { code: 'pool_missing' })
  await t.rejects(openTestPools([f, d], options), { code: 'pool_missing' }, 'and nothing is written to the new folders')
  await t.rejects(openTestPools([[...d, ...e]], options), { code: 'drive_foreign' })
  const other = await openTestPools([f], options)
  await put(other, 'of another deployment')
  await other.stop()
  await t.rejects(openTestPools([d, e, f], options), { code: 'pool_foreign' })
  for (const path of f) await rm(path, { recursive: true })
  pools = await openTestPools([f, d, e], options)
  t.teardown(() => pools.stop())
  t.strictSame(await paths(), [...placed, [f[0], 2, 0], [f[1], 2, 0]])
  t.ok((await readBlob(pools.backend, ref)).equals(bytes))
})

t.test('a record can refer only to blobs that are kept', async t => {
  const folder = await newFolder(t)
  const shapes = [pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 2)]
  let pools = await openTestPools(shapes, options)
  t.teardown(() => pools.stop())
  pools.placement.exclude(0)
  const [first, second, third] = [
    await writeBlob(pools, Buffer.alloc(150_000, 1)),
    await writeBlob(pools, Buffer.alloc(150_000, 2)),
    await writeBlob(pools, Buffer.alloc(150_000, 3)),
  ]
  await put(pools, 'a', first.ref.id)
  await first.writer.abort()
  t.equal(
    (await readBlob(pools.backend, first.ref)).length,
    150_000,
    'aborting a writer keeps a blob that a record refers to',
  )
  await second.writer.abort()
  await t.rejects(put(pools, 'b', second.ref.id), { code: 'gone' })
  t.equal(await pools.backend.get(keyOf('b')), undefined)
  const refused = pools.backend.execute('contract.stepsThenThrow', [{ put: 'c', blobs: [third.ref.id] }])
  await t.rejects(refused, { code: 'refused' })
  await put(pools, 'c', third.ref.id)
  await put(pools, 'd', third.ref.id)
  await remove(pools, 'c')
  t.equal((await readBlob(pools.backend, third.ref)).length, 150_000)
  await isGone(pools, first.ref)
  // Each key without a zero byte is a group of its own.
  const amounts = await pools.redundant.amounts([keyOf('a'), keyOf('c'), keyOf('d'), keyOf('d')])
  t.match(amounts, { total: { records: 2, bytes: 300_000 }, below: { records: 0 } })
  t.match(await pools.redundant.heal(keyOf('d'), { deep: true, dryRun: false }), {
    before: [undefined, undefined, 'ok', 'ok'],
    isReadable: true,
    dataBytes: 150_000,
  })
  await remove(pools, 'd')
  await put(pools, 'a')
  await t.rejects(put(pools, 'e', third.ref.id), { code: 'gone' })

  // A blob without a record is deleted after the next start.
  const left = await writeBlob(pools, Buffer.alloc(150_000, 4))
  while (!pools.orphanSweep.isDone) await pools.orphanSweep.step()
  t.equal((await readBlob(pools.backend, left.ref)).length, 150_000, 'not in the run that wrote it')
  await pools.stop()
  pools = await openTestPools(shapes, options)
  while (!pools.orphanSweep.isDone) await pools.orphanSweep.step()
  t.equal(pools.orphanSweep.deleted, 1)
})

t.test('each bucket has its own counts, also of blobs that buckets share', async t => {
  const folder = await newFolder(t)
  const shapes = [pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 2)]
  const pools = await openTestPools(shapes, options)
  t.teardown(() => pools.stop())
  pools.placement.exclude(0)
  const inP = (name: string) => Buffer.from(`tp\0${name}`)
  const inQ = (name: string) => Buffer.from(`tq\0${name}`)
  const steps = (...list: { put?: Buffer; delete?: Buffer; blobs?: readonly string[] }[]) =>
    pools.backend.execute('contract.steps', list)
  const write = async (size: number, record?: Buffer) => {
    const writer = pools.backend.createBlob(size, { for: record })
    await writer.write(Buffer.alloc(size, 'x'))
    return writer.finish()
  }
  const one = await write(150_000, inP('one'))
  const two = await write(160_000)
  const three = await write(170_000, inQ('three'))
  await steps({ put: inP('one'), blobs: [one.id] })
  await steps({ put: inP('two'), blobs: [two.id] })
  await steps({ put: inQ('three'), blobs: [three.id] })
  await steps({ put: inQ('copies'), blobs: [one.id, two.id] }, { put: inP('copy'), blobs: [three.id] })
  const figures = async (...records: Buffer[]) => {
    const { total, below } = await pools.redundant.amounts(records)
    return [total.records, total.bytes, below.records, below.bytes]
  }
  t.strictSame(await figures(inP('')), [3, 480_000, 0, 0])
  t.strictSame(await figures(inQ('')), [3, 480_000, 0, 0])
  t.strictSame(await figures(inP(''), inQ('any')), [6, 960_000, 0, 0])
  await steps({ delete: inP('copy') }, { delete: inQ('three') })
  await steps({ put: inQ('another') })
  t.ok(await isGone(pools, three), 'no record needs it')
  t.strictSame(await figures(inP('')), [2, 310_000, 0, 0])
  t.strictSame(await figures(inQ('')), [2, 310_000, 0, 0])
  /** Takes the shard away that reads use: on either drive. */
  const loseShard = async (ref: BlobRef) => {
    const ofSet = () => pools.sets[1]!.backend.redundant!.amounts()
    const before = (await ofSet()).below.records
    for (const drive of shapes[1]!) {
      const folder = join(drive, 'blobs')
      const name = (await readdir(folder, { recursive: true })).find(path => path.includes(ref.id.slice(11)))!
      await rename(join(folder, name), join(drive, 'aside'))
      await readBlob(pools.backend, ref)
      await pools.markMissingShards()
      if ((await ofSet()).below.records > before) return
      await rename(join(drive, 'aside'), join(folder, name))
    }
    t.fail('a shard that is read')
  }
  const below = async () => [await figures(inP('')), await figures(inQ(''))]
  const states: unknown[] = [await below()]
  for (const ref of [one, two]) {
    await loseShard(ref)
    states.push(await below())
  }
  for (const record of [inP('one'), inQ('copies'), inP('two')]) {
    await pools.redundant.heal(record, { deep: false, dryRun: false })
    states.push(await below())
  }
  const whole = [2, 310_000, 0, 0]
  t.strictSame(states, [
    [whole, whole],
    [
      [2, 310_000, 1, 150_000],
      [2, 310_000, 1, 150_000],
    ],
    [
      [2, 310_000, 2, 310_000],
      [2, 310_000, 2, 310_000],
    ],
    [
      [2, 310_000, 1, 160_000],
      [2, 310_000, 2, 310_000],
    ],
    [[2, 310_000, 1, 160_000], whole],
    [whole, whole],
  ])
})

t.test('references of format 1, which have no groups, keep their blobs', async t => {
  const folder = await newFolder(t)
  const shapes = [pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 2)]
  const procedures: typeof contractProcedures = {
    ...contractProcedures,
    'test.put': (tx, { key, value }: { key: Buffer; value: Buffer }) => tx.put(Buffer.from(key), Buffer.from(value)),
  }
  let pools = await openTestPools(shapes, { ...options, procedures })
  t.teardown(() => pools.stop())
  pools.placement.exclude(0)
  const inBucket = (name: string) => Buffer.from(`tbucket\0${name}`)
  const { ref } = await writeBlob(pools, Buffer.alloc(150_000, 'o'))
  const existing = blobReferenceOf(idInSet(ref.id), unknownGroup)
  await pools.sets[1]!.backend.execute(procedure.acquire, [{ reference: idInSet(ref.id), size: ref.size, existing }])
  const references = encodeReferences([ref])
  references[0] = 1
  for (const name of ['one', 'two']) {
    await pools.backend.execute('test.put', { key: inBucket(name), value: Buffer.from(name) })
    await pools.backend.execute('test.put', { key: referencesKey(inBucket(name)), value: references })
  }
  await pools.stop()

  pools = await openTestPools(shapes, { ...options, procedures })
  while (!pools.orphanSweep.isDone) await pools.orphanSweep.step()
  t.equal(pools.orphanSweep.deleted, 1, 'the reference without a known group')
  const steps = (...list: { put?: Buffer; delete?: Buffer; blobs?: readonly string[] }[]) =>
    pools.backend.execute('contract.steps', list)
  t.match(await pools.redundant.heal(inBucket('one'), { deep: true, dryRun: false }), { isReadable: true })
  await steps({ delete: inBucket('one') })
  await steps({ put: inBucket('moved'), blobs: [ref.id] }, { delete: inBucket('two') })
  await steps({ put: inBucket('later') })
  t.notOk(await isGone(pools, ref))
  t.match(await pools.redundant.amounts([inBucket('')]), { total: { records: 1, bytes: 150_000 } })
  t.equal((await readBlob(pools.backend, ref)).length, 150_000)
  await steps({ delete: inBucket('moved') })
  t.ok(await isGone(pools, ref))
})

t.test('a remote reference of format 1 counts as one of an earlier run', t => {
  const run = Buffer.alloc(16, 7)
  const remoteReference = encodeRemoteReference({ run, number: 5 }, 1000)
  t.ok(isOfRun(remoteReference, run))
  t.notOk(isOfRun(remoteReference, Buffer.alloc(16, 8)))
  t.strictSame(
    [4, 5, 6].map(number => isNewer(remoteReference, { run, number })),
    [true, false, false],
  )
  const earlier = Buffer.concat([Buffer.from([1]), remoteReference.subarray(1, -8)])
  t.notOk(isOfRun(earlier, run))
  t.notOk(isNewer(earlier, { run, number: 0 }))
  t.throws(() => isOfRun(remoteReference.subarray(0, -8), run), { code: 'corrupt' })
  t.end()
})
