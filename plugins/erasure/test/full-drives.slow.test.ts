/** Full drives: what clients delete makes room, whatever has happened to the leader, to a drive that lacks changes, or to the process. */
import type { Derive, Procedure } from 'svc/plugins/storage/api'
import { createSeededRandom, until } from 'svc/testing'
import t, { type Test } from 'tap'
import type { Member } from '../member.ts'
import { setKey } from '../set-keys.ts'
import { procedure } from '../set-procedures.ts'
import { blobBytesIn, newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const keyOf = (name: string) => Buffer.from(`t${name}`)
const procedures: Readonly<Record<string, Procedure>> = {
  put: (tx, { name, blobs }: { readonly name: string; readonly blobs: readonly string[] }) =>
    tx.put(keyOf(name), Buffer.from(name), { blobs }),
  delete: (tx, { name }: { readonly name: string }) => tx.delete(keyOf(name)),
}
const { signal } = new AbortController()
const bytes = createSeededRandom(1).bytes(300_000)
const count = 10

async function putAll({ backend }: TestSet): Promise<void> {
  for (let i = 0; i < count; i++) {
    const writer = backend.createBlob(bytes.length)
    await writer.write(bytes)
    const { id } = await writer.finish()
    await backend.execute('put', { name: `name-${i}`, blobs: [id] })
  }
}

async function deleteAll({ backend }: TestSet): Promise<void> {
  for (let i = 0; i < count; i++) await backend.execute('delete', { name: `name-${i}` })
}

/** Three drives with blobs, and what opens them again. From `fill` on the drives of these slots are full. */
async function fullSet(t: Test) {
  const paths = await newFolders(t, 3)
  const capacities = new Map<string, number>()
  const open = () => openTestSet(paths, { procedures, derive, parityCount: 1, capacities })
  const set = await open()
  const fill = async (set: TestSet, slots: readonly number[]) => {
    for (const slot of slots) {
      const { path } = set.set.members[slot]!
      capacities.set(path, await blobBytesIn(path))
    }
    await isSo('they say that they are full', async () => {
      const statuses = await set.backend.drives()
      return statuses.filter(({ state }) => state === 'full').length === slots.length
    })
  }
  const isFree = async () => (await Promise.all(paths.map(blobBytesIn))).every(size => size === 0)
  await putAll(set)
  return { set, open, fill, isFree }
}

const isSo = (what: string, holds: () => Promise<boolean>) => until(holds, { what })

t.test('all drives are full, and another one leads', async t => {
  const { set, fill, isFree } = await fullSet(t)
  t.teardown(() => set.stop())
  await fill(set, [0, 1, 2])
  set.set.onLost(set.set.leader() as never, new Error('it is lost for this test'))
  await deleteAll(set)
  await isSo('the blobs are deleted', async () => {
    await set.repairLoop.bringBack(signal)
    return (await isFree()) && set.set.isWhole && set.set.isEpochClaimed
  })
})

t.test('all drives are full when the server starts', async t => {
  const { set, open, fill, isFree } = await fullSet(t)
  await fill(set, [0, 1, 2])
  await set.stop()
  const again = await open()
  t.teardown(() => again.stop())
  await deleteAll(again)
  await isSo('the blobs are deleted', isFree)
})

t.test('one drive is full, and lacks a change', async t => {
  const { set, fill, isFree } = await fullSet(t)
  t.teardown(() => set.stop())
  const { slot } = set.set.members.find(member => member !== set.set.leader())!
  await fill(set, [slot])
  await set.backend.execute('put', { name: 'more'.repeat(100), blobs: [] })
  await isSo('it has refused the change', async () => set.set.members[slot]!.state !== 'current')
  await set.repairLoop.bringBack(signal)
  await deleteAll(set)
  await isSo('it has room, and every change', async () => {
    await set.repairLoop.bringBack(signal)
    return (await isFree()) && set.set.isWhole
  })
})

t.test(
  'a full drive that catches up refuses a change, and takes its last records, which free more than they need',
  async t => {
    const { set, fill } = await fullSet(t)
    t.teardown(() => set.stop())
    const leader = set.set.leader() as Member
    const back = set.set.members.find(member => member !== leader)!
    await fill(set, [back.slot])
    set.set.onLost(back, new Error('it is lost for this test'))
    await set.backend.execute('delete', { name: 'name-0' })
    let putting: Promise<unknown> | undefined
    const { execute } = leader.drive
    leader.drive.execute = <Result>(name: string, args: unknown, body?: Uint8Array): Promise<Result> => {
      // In the same turn as the last records are read, so that the drive gets both before it answers the first.
      const isLast = name === procedure.show && (args as Buffer[]).some(key => key.equals(setKey))
      if (isLast) putting ??= set.backend.execute('put', { name: 'more', blobs: [] })
      return execute.call(leader.drive, name, args, body) as Promise<Result>
    }
    set.set.onReturned(back, false)
    await set.repairLoop.bringBack(signal)
    await putting
    leader.drive.execute = execute
    t.equal(back.state, 'offline', 'it has refused the change')
    await deleteAll(set)
    await isSo('it has room, and every change', async () => {
      await set.repairLoop.bringBack(signal)
      return set.set.isWhole
    })
    t.ok(await back.drive.get(keyOf('more')))
  },
)
