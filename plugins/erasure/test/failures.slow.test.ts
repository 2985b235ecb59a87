/** Sets of real folders whose drives fail, return and are replaced: no data is lost, and the ledger counts what is missing. */
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Derive, Procedure, StorageBackend, Transaction } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSeededRandom } from 'svc/testing'
import t, { type Test } from 'tap'
import { headOf } from '../set-record.ts'
import { newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const seed = Number(process.env.SEED ?? 1 + Math.floor(Math.random() * 2 ** 30))
t.comment(`seed ${seed}`)

const keyOf = (name: string) => Buffer.from(`o${name}`)
const procedures: Record<string, Procedure> = {
  put: (tx: Transaction, { name, value, blobs }: { name: string; value: string; blobs: string[] }, body) => {
    tx.put(keyOf(name), Buffer.from(value), { body, blobs })
  },
  touch: (tx: Transaction, { name, value, blobs }: { name: string; value: string; blobs: string[] }) => {
    if (tx.get(keyOf(name)) === undefined) throw new Error(`no ${name}`)
    tx.put(keyOf(name), Buffer.from(value), blobs.length > 0 ? { blobs } : { bodyOf: keyOf(name) })
  },
  delete: (tx: Transaction, { name }: { name: string }) => tx.delete(keyOf(name)),
}
const derive: Derive = () => undefined

interface Stored {
  readonly body: Buffer
  readonly value: string
  readonly blob: { readonly id: string; readonly size: number; readonly check: number } | undefined
}

const sizes = [0, 1, 512, 513, 5000, 70_000, 131_072, 200_000, 1_500_000]

/** Clients of a set; they remember every acknowledged change. */
class Clients {
  readonly stored = new Map<string, Stored>()
  readonly #random = createSeededRandom(seed)
  #count = 0

  async put(backend: StorageBackend, name: string, size = this.#random.pick(sizes)): Promise<void> {
    const body = this.#random.bytes(size)
    const value = `v${this.#count++}`
    if (body.length <= backend.inlineBytesMax) {
      await backend.execute('put', { name, value, blobs: [] }, body)
      this.stored.set(name, { body, value, blob: undefined })
      return
    }
    const writer = backend.createBlob(body.length)
    for (let at = 0; at < body.length; at += 60_000) await writer.write(body.subarray(at, at + 60_000))
    const blob = await writer.finish()
    await backend.execute('put', { name, value, blobs: [blob.id] })
    this.stored.set(name, { body, value, blob })
  }

  async touch(backend: StorageBackend, name: string): Promise<void> {
    const present = this.stored.get(name)!
    const value = `t${this.#count++}`
    await backend.execute('touch', { name, value, blobs: present.blob === undefined ? [] : [present.blob.id] })
    this.stored.set(name, { ...present, value })
  }

  async delete(backend: StorageBackend, name: string): Promise<void> {
    await backend.execute('delete', { name })
    this.stored.delete(name)
  }

  async verify(t: Test, backend: StorageBackend, what: string): Promise<void> {
    const names = await backend.scan(keyOf(''), Buffer.from('p'), cursor => {
      const found: string[] = []
      while (cursor.next()) found.push(cursor.key.toString('utf8', 1))
      return found
    })
    t.strictSame(names, [...this.stored.keys()].sort(), `${what}: exactly the acknowledged records are there`)
    let wrong = 0
    for (const [name, { body, value, blob }] of this.stored) {
      const record = (await backend.get(keyOf(name)))!
      if (Buffer.from(record.value).toString() !== value) wrong++
      const bytes =
        blob === undefined ? Buffer.from(await backend.readBody(record.body!)) : await readBlob(backend, blob)
      if (!bytes.equals(body)) wrong++
    }
    t.equal(wrong, 0, `${what}: with their values and bytes`)
  }
}

/** One round waits only briefly for slow drives, so on a busy machine several are needed. */
async function untilAllAreBack({ set, repairLoop }: TestSet): Promise<void> {
  while (!set.isWhole) {
    await repairLoop.bringBack(new AbortController().signal)
    await sleep(20)
  }
}

async function healAll({ repairLoop }: TestSet): Promise<void> {
  const { signal } = new AbortController()
  await repairLoop.bringBack(signal)
  await repairLoop.markMissingShards()
  while (await repairLoop.healSome(signal));
}

async function change(clients: Clients, backend: StorageBackend, round: string): Promise<void> {
  const names = [...clients.stored.keys()]
  for (let i = 0; i < 12; i++) await clients.put(backend, `${round}-${i}`)
  for (const name of names.slice(0, 6)) await clients.delete(backend, name)
  for (const name of names.slice(6, 12)) await clients.touch(backend, name)
  for (const name of names.slice(12, 16)) await clients.put(backend, name)
}

async function hide(path: string): Promise<void> {
  await rename(path, `${path}.hidden`)
}

async function unhide(path: string): Promise<void> {
  await rename(`${path}.hidden`, path)
}

for (const [driveCount, parityCount] of [
  [3, 1],
  [4, 2],
  [6, 2],
] as const) {
  t.test(`${driveCount} drives, ${parityCount} of them parity`, async t => {
    const paths = await newFolders(t, driveCount)
    const clients = new Clients()
    const options = { procedures, derive, parityCount }
    let set = await openTestSet(paths, options)
    t.teardown(() => set.stop())
    const restart = async () => {
      await set.stop()
      set = await openTestSet(paths, options)
    }
    const lost = driveCount - set.set.writeQuorum
    await change(clients, set.backend, 'first')
    await change(clients, set.backend, 'second')
    await clients.verify(t, set.backend, 'whole')
    t.equal((await set.ledger.read()).below.records, 0, 'nothing is missing')
    const { total } = await set.ledger.read()
    t.ok(total.records > 0)

    await set.stop()
    const gone = paths.slice(0, lost)
    for (const path of gone) await hide(path)
    set = await openTestSet(paths, options)
    await clients.verify(t, set.backend, 'without some drives')
    const without = await set.ledger.read()
    t.strictSame(without.below, without.total, 'all records lack the shards of offline drives')
    await change(clients, set.backend, 'third')
    await clients.verify(t, set.backend, 'after changes without them')
    for (const path of gone) await unhide(path)
    await untilAllAreBack(set)
    await clients.verify(t, set.backend, 'after their return')
    t.ok((await set.ledger.read()).below.records > 0, 'records written in the meantime lack shards')
    await healAll(set)
    t.equal((await set.ledger.read()).below.records, 0, 'until it is healed')

    await restart()
    t.equal(set.set.currentCount, driveCount)
    await set.stop()
    // The other drives are gone now: these shards were rebuilt.
    const others = paths.slice(-parityCount)
    for (const path of others) await hide(path)
    set = await openTestSet(paths, options)
    await clients.verify(t, set.backend, 'without others')
    await set.stop()

    for (const path of others) await mkdir(path)
    set = await openTestSet(paths, options)
    t.equal(set.set.currentCount, driveCount, 'empty folders become drives of the set')
    await clients.verify(t, set.backend, 'with replaced drives')
    t.ok((await set.ledger.read()).below.records > 0)
    await healAll(set)
    t.equal((await set.ledger.read()).below.records, 0, 'replaced drives are rebuilt')
    await set.stop()
    for (const path of paths.slice(0, parityCount)) await hide(path)
    set = await openTestSet(paths, options)
    await clients.verify(t, set.backend, 'from replaced drives')
    await set.stop()
    for (const path of paths.slice(0, parityCount)) await unhide(path)

    // Another order of the paths: drives are identified by their format.
    set = await openTestSet([...paths].reverse(), options)
    t.equal(set.set.currentCount, driveCount, 'drives were moved')
    await clients.verify(t, set.backend, 'moved')
  })
}

async function files(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

t.test('corrupt shards of blobs are read from other drives, and rebuilt', async t => {
  const paths = await newFolders(t, 4)
  const clients = new Clients()
  const options = { procedures, derive, parityCount: 2 }
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  for (let i = 0; i < 20; i++) await clients.put(set.backend, `n${i}`)
  // So many blobs that some have data shards on the damaged drives; readers do not read parity.
  for (let i = 0; i < 16; i++) await clients.put(set.backend, `blob${i}`, 200_000)
  await set.stop()
  let damaged = 0
  for (const [number, path] of paths.slice(1, 3).entries()) {
    for (const file of await files(join(path, 'blobs'))) {
      const handle = await open(file, 'r+')
      await handle.write(Buffer.from([1 + number]), 0, 1, Math.floor((await stat(file)).size / 3))
      await handle.close()
      damaged++
    }
  }
  t.ok(damaged > 0)
  set = await openTestSet(paths, options)
  await clients.verify(t, set.backend, 'with damaged blobs')
  await set.repairLoop.markMissingShards()
  t.ok((await set.ledger.read()).below.records > 0, 'readers have reported them')
  await healAll(set)
  // Readers do not read parity while no data shard is missing.
  while (await set.repairLoop.scrubSome(new AbortController().signal));
  t.ok(set.repairLoop.counts.damaged > 0, 'scrubbing finds damage that readers do not')
  t.equal((await set.ledger.read()).below.records, 0)
  await set.stop()
  for (const path of [paths[0]!, paths[3]!]) await hide(path)
  set = await openTestSet(paths, options)
  await clients.verify(t, set.backend, 'from what was made anew')
})

t.test('a shard file that was moved to another drive is not used there', async t => {
  const paths = await newFolders(t, 4)
  const clients = new Clients()
  const options = { procedures, derive, parityCount: 2 }
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  for (let i = 0; i < 8; i++) await clients.put(set.backend, `blob${i}`, 200_000)
  await set.stop()
  const [first, second] = paths.map(path => join(path, 'blobs')) as [string, string]
  await rename(first, `${first}.aside`)
  await rename(second, first)
  await rename(`${first}.aside`, second)
  set = await openTestSet(paths, options)
  await clients.verify(t, set.backend, 'with the blobs of two drives exchanged')
  while (await set.repairLoop.scrubSome(new AbortController().signal));
  await healAll(set)
  t.equal((await set.ledger.read()).below.records, 0)
  await set.stop()
  for (const path of paths.slice(2)) await hide(path)
  set = await openTestSet(paths, options)
  await clients.verify(t, set.backend, 'from what was made anew')
})

t.test('shards found missing without a write quorum are marked later', async t => {
  const paths = await newFolders(t, 4)
  const clients = new Clients()
  const options = { procedures, derive, parityCount: 2 }
  let set = await openTestSet(paths, options)
  t.teardown(() => set.stop())
  for (let i = 0; i < 8; i++) await clients.put(set.backend, `n${i}`, 5000)
  await set.stop()
  for (const path of paths.slice(2)) await hide(path)
  set = await openTestSet(paths, options)
  const key = keyOf('n0')
  const { identity } = headOf((await set.set.leader().drive.get(key))!.value)
  set.set.onMissingShard({ slot: 0, key, identity })
  await set.repairLoop.markMissingShards()
  for (const path of paths.slice(2)) await unhide(path)
  await untilAllAreBack(set)
  await set.repairLoop.markMissingShards()
  t.equal((await set.ledger.read()).below.records, 1, 'the report was kept')
  await healAll(set)
  t.equal((await set.ledger.read()).below.records, 0)
})

t.test('a drive that hangs does not block requests', async t => {
  const paths = await newFolders(t, 4)
  const clients = new Clients()
  const hanging = new Set<string>()
  const options = { procedures, derive, parityCount: 2, hanging, tickMs: 50 }
  let set = await openTestSet(paths, options)
  t.teardown(() => {
    hanging.clear()
    return set.stop()
  })
  for (const size of sizes) await clients.put(set.backend, `first-${size}`, size)
  const writeAll = (round: string) => Promise.all(sizes.map(size => clients.put(set.backend, `${round}-${size}`, size)))
  const back = async () => {
    hanging.clear()
    await untilAllAreBack(set)
  }
  const others = () => set.set.members.filter(member => member !== set.set.leader())

  // None of these would end if they waited for the drive.
  hanging.add(others()[0]!.path)
  await writeAll('second')
  t.equal(set.set.currentCount, 3, 'the drive is offline')
  t.match(set.complaints().join(), /has not answered for/)
  await clients.verify(t, set.backend, 'without it')
  await set.repairLoop.bringBack(new AbortController().signal)
  t.equal(set.set.currentCount, 3, 'and stays offline while it hangs')
  await back()
  await clients.verify(t, set.backend, 'with it')

  const leader = set.set.leader()
  hanging.add(leader.path)
  await t.rejects(clients.put(set.backend, 'lost', 100), { code: 'unavailable' }, 'the change is in doubt')
  clients.stored.delete('lost')
  t.not(set.set.leader(), leader, 'another one leads')
  await writeAll('third')
  await back()
  await clients.verify(t, set.backend, 'what the former leader made alone does not count')

  for (const { path } of others().slice(0, 2)) hanging.add(path)
  await t.rejects(writeAll('fourth'), { code: 'unavailable' }, 'two of four drives: no write quorum')
  for (const name of [...clients.stored.keys()]) if (name.startsWith('fourth')) clients.stored.delete(name)
  const names = await set.backend.scan(keyOf('first'), keyOf('firsu'), cursor => {
    let count = 0
    while (cursor.next()) count++
    return count
  })
  t.equal(names, sizes.length, 'and everything can be read')
  await back()
  await set.stop()
  hanging.add(paths[3]!)
  set = await openTestSet(paths, options)
  t.equal(set.set.currentCount, 3, 'a start goes on without it')
  await writeAll('fifth')
  await back()
  await healAll(set)
  t.equal((await set.ledger.read()).below.records, 0)
})

t.test('a set that cannot be opened is refused with the reason', async t => {
  const paths = await newFolders(t, 4)
  const options = { procedures, derive, parityCount: 2 }
  const set = await openTestSet(paths, options)
  await new Clients().put(set.backend, 'a')
  await set.stop()
  for (const path of paths.slice(0, 3)) await hide(path)
  await t.rejects(openTestSet(paths, options), { code: 'set_incomplete', message: /1 of 4 drives.*2 are needed/s })
  for (const path of paths.slice(0, 3)) await unhide(path)
  await t.rejects(openTestSet(paths.slice(0, 3), { ...options, parityCount: 1 }), { code: 'drive_count' })
  const others = await newFolders(t, 4)
  await (await openTestSet(others, options)).stop()
  await t.rejects(openTestSet([...paths.slice(0, 3), others[3]!], options), { code: 'drive_foreign' })
  await rm(join(others[0]!, 'format.json'))
  await copyFile(join(others[1]!, 'format.json'), join(others[0]!, 'note')).catch(() => undefined)
  const again = await openTestSet(paths, options)
  t.equal(again.set.currentCount, 4)
  await again.stop()
})
