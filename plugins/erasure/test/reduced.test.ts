/** Bodies and blobs with less parity than their set: they take less space, and survive fewer losses. */
import { mkdir, rm } from 'node:fs/promises'
import type { BlobRef, Derive, Procedure } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSeededRandom } from 'svc/testing'
import t, { type Test } from 'tap'
import { headOf } from '../set-record.ts'
import { newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const keyOf = (name: string) => Buffer.from(`t${name}`)
interface PutArgs {
  readonly name: string
  readonly blobs?: readonly string[]
  /** Records that have them. */
  readonly from?: readonly string[]
}

const procedures: Readonly<Record<string, Procedure>> = {
  put: (tx, { name, blobs, from = [] }: PutArgs, body) => {
    // A procedure that puts a blob again has read the record that has it.
    for (const other of from) tx.get(keyOf(other))
    tx.put(keyOf(name), Buffer.from(name), { body, blobs })
  },
}
const random = createSeededRandom(1)
const body = random.bytes(60_000)
const large = random.bytes(1_500_000)

/** A body and a blob, under names that end with `suffix`. */
async function store({ backend }: TestSet, redundancy: 'standard' | 'reduced', suffix = ''): Promise<BlobRef> {
  await backend.execute('put', { name: `body-${redundancy}${suffix}` }, Buffer.from(body), { redundancy })
  const writer = backend.createBlob(large.length, { redundancy })
  await writer.write(large)
  const ref = await writer.finish()
  await backend.execute('put', { name: `blob-${redundancy}${suffix}`, blobs: [ref.id] })
  return ref
}

async function readBody({ backend }: TestSet, name: string): Promise<Buffer> {
  return backend.readBody((await backend.get(keyOf(name)))!.body!)
}

async function headAt({ set }: TestSet, name: string) {
  return headOf((await set.leader().drive.get(keyOf(name)))!.value)
}

async function heal(t: Test, { repairLoop, ledger }: TestSet): Promise<void> {
  const { signal } = new AbortController()
  await repairLoop.bringBack(signal)
  while (await repairLoop.healSome(signal));
  t.same((await ledger.read()).below, { records: 0, bytes: 0 })
}

function lose(t: Test, { set }: TestSet, slot: number): void {
  set.onLost(set.members[slot]!, new Error('it is lost for this test'))
  t.not(set.members[slot]!.state, 'current')
}

t.test('standard data survives the loss of three of six drives, reduced data the loss of one', async t => {
  const paths = await newFolders(t, 6)
  let set = await openTestSet(paths, { procedures, derive, parityCount: 3 })
  t.teardown(() => set.stop())
  const reduced = await store(set, 'reduced')
  const standard = await store(set, 'standard')
  t.match(await headAt(set, 'body-reduced'), { dataCount: 5, parityCount: 1, lessParity: 2 })
  t.match(await headAt(set, 'body-standard'), { dataCount: 3, parityCount: 3, lessParity: 0 })
  t.match(await headAt(set, 'blob-reduced'), { lessParity: 2, blobs: [{ parityCount: 1 }] })

  lose(t, set, 1)
  t.ok((await readBlob(set.backend, reduced)).equals(large), 'a blob, without one drive')
  t.ok((await readBody(set, 'body-reduced')).equals(body), 'a body, without one drive')
  t.ok((await readBlob(set.backend, await store(set, 'reduced', '-1'))).equals(large), 'and written, without one drive')

  lose(t, set, 2)
  await t.rejects(readBlob(set.backend, reduced), { code: 'unavailable' }, 'without two not')
  await t.rejects(readBody(set, 'body-reduced'), { code: 'unavailable' })
  t.ok((await readBlob(set.backend, standard)).equals(large), 'standard data can be read')
  t.ok((await readBody(set, 'body-standard')).equals(body))
  await t.rejects(
    store(set, 'reduced', '-2'),
    { code: 'unavailable' },
    'nothing is acknowledged that could not be read',
  )
  t.ok((await readBlob(set.backend, await store(set, 'standard', '-3'))).equals(large))

  // Existing data keeps its parity when the configuration changes.
  await set.stop()
  set = await openTestSet(paths, { procedures, derive, parityCount: 3, reducedParityCount: 2 })
  t.ok((await readBlob(set.backend, reduced)).equals(large), 'with all drives again')
  t.ok((await readBody(set, 'body-reduced')).equals(body))
  const other = await store(set, 'reduced', '-4')
  t.match(await headAt(set, 'blob-reduced-4'), { lessParity: 1, blobs: [{ parityCount: 2 }] })
  const from = ['blob-reduced', 'blob-standard', 'blob-reduced-4']
  await set.backend.execute('put', { name: 'mixed', blobs: [reduced.id, standard.id, other.id], from })
  t.match(await headAt(set, 'mixed'), {
    parityCount: 1,
    lessParity: 2,
    blobs: [{ parityCount: 1 }, { parityCount: 3 }, { parityCount: 2 }],
  })

  // Reduced data that was written without a drive survives no loss before it is healed.
  await heal(t, set)

  // All shards of a replaced drive are rebuilt.
  await set.stop()
  await rm(paths[4]!, { recursive: true })
  await mkdir(paths[4]!)
  set = await openTestSet(paths, { procedures, derive, parityCount: 3 })
  const { signal } = new AbortController()
  await set.repairLoop.bringBack(signal)
  while (await set.repairLoop.healSome(signal));
  t.same((await set.ledger.read()).below, { records: 0, bytes: 0 })
  lose(t, set, 0)
  for (const ref of [reduced, standard, other])
    t.ok((await readBlob(set.backend, ref)).equals(large), 'from the new drive')
  t.ok((await readBody(set, 'body-reduced')).equals(body))
})

t.test('data with less parity is healed first', async t => {
  const set = await openTestSet(await newFolders(t, 4), { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  lose(t, set, 3)
  await store(set, 'standard')
  await store(set, 'reduced')
  const queue = await set.set
    .leader()
    .drive.scanDerived(Buffer.from([0xfe, 0x68]), Buffer.from([0xfe, 0x69]), cursor => {
      const keys: string[] = []
      while (cursor.next()) keys.push(cursor.key.latin1Slice(3))
      return keys
    })
  t.same(queue, ['tblob-reduced', 'tbody-reduced', 'tblob-standard', 'tbody-standard'])
})
