/**
 * Several sets over simulated drives, with clients, and a model of what must be true. Every transaction is a *run* with a number. It writes
 * its number into one record, after reading the number of the run before it there. So a storage that comes back tells which runs it
 * consists of: the chain from its last run back to the last verified one.
 */
import assert from 'node:assert/strict'
import { pino } from 'pino'
import type { Disk } from 'svc/plugins/drive/api'
import { createSimulatedDrives, SimulatedDisk, SimulatedIndex, simulatedDriveConfig } from 'svc/plugins/drive/testing'
import { createSimulatedSets, type OpenSet } from 'svc/plugins/erasure/testing'
import type { BlobRef, StorageBackend, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { contentOf, createSingleThread, type SeededRandom, SimulatedTime } from 'svc/testing'
import { createBackend, type OpenPools } from '../backend.ts'
import { blobIdFrom, idInSet, isElsewhere, setOfBlob } from '../blob-ids.ts'
import { blobReferenceOf, groupOf, groupOfReference } from '../blob-references.ts'
import {
  isOfRun,
  referenceFromKey,
  remoteReferenceEnd,
  remoteReferenceStart,
  remoteReferencesOf,
} from '../remote-references.ts'

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
const lastKey = Buffer.from('last')
/** In four groups, one of them in two tables. */
const starts: Readonly<Record<string, string>> = {
  a: 'tp',
  b: 'tp',
  c: 'tp',
  d: 'tq',
  e: 'tq',
  f: 'uq',
  g: 'tr',
  h: 'tr',
  i: 'ts',
}
/** Concurrent operations on a drive are drawn: from 1 to this. */
const operationsMaxMax = 3
const keyOf = (name: string) => Buffer.from(`${starts[name]}\0${name}`, 'latin1')
const recordsStart = Buffer.from('t')
const recordsEnd = Buffer.from('v')
const log = pino({ level: process.env.LOG ?? 'silent' })

interface Value {
  readonly id: number
  readonly size: number
  readonly blobs: readonly BlobRef[]
}

type Change =
  | { readonly kind: 'put'; readonly name: string; readonly value: Value; readonly ifAbsent: boolean }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'move' | 'copy'; readonly name: string; readonly to: string }

/** A set alone trusts its caller that no record refers to an aborted blob; so blobs of a commit in doubt are not aborted. */
type Abort = (isInDoubt?: boolean) => Promise<void>

interface Run {
  readonly client: number
  readonly before: number
  readonly change: Change
  readonly result: unknown
}

export interface Counts {
  acknowledged: number
  rejected: number
  verified: number
  /** Blobs in blob sets that an orphan sweep has deleted. */
  collected: number
  /** Orphan sweeps after which the remote references were exactly those that records need. */
  exact: number
  /** Lives at whose end nothing was left over. */
  quiet: number
  /** Those among them in which changes were refused, some of them in doubt. */
  decided: number
  /** Drives that failed while clients worked. */
  failed: number
  elsewhere: number
}

function applyToModel(model: Map<string, Value>, change: Change): unknown {
  const present = model.get(change.name)
  switch (change.kind) {
    case 'put':
      if (change.ifAbsent && present !== undefined) return 'present'
      model.set(change.name, change.value)
      return 'put'
    case 'delete':
      return model.delete(change.name)
    case 'move':
    case 'copy':
      if (present === undefined || change.to === change.name) return false
      model.set(change.to, present)
      if (change.kind === 'move') model.delete(change.name)
      return true
  }
}

/** A drive: its disk and index, which lose power or only the process. */
class Hardware {
  readonly path: string
  readonly disk: SimulatedDisk
  readonly index: SimulatedIndex
  connection: Disk
  isAbsent = false

  constructor(path: string, random: SeededRandom) {
    this.path = path
    this.disk = new SimulatedDisk({ random, capacityBytes: 2 ** 40 })
    void this.disk.connect().makeDirectory(path)
    this.index = new SimulatedIndex(random)
    this.connection = this.disk.connect()
  }

  crash(kind: 'power' | 'process'): void {
    if (kind === 'power') {
      this.disk.losePower()
      this.index.losePower()
    } else {
      this.disk.crash()
      this.index.crash()
    }
    this.connection = this.disk.connect()
  }
}

function missing(): Error {
  return Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
}

/** The disks of all drives as one tree, for one life of the process. */
function connectAll(hardware: readonly Hardware[], isAlive: () => boolean): Disk {
  const on = <T>(path: string, operation: (disk: Disk) => Promise<T>): Promise<T> => {
    // What a process does after its end is ignored.
    if (!isAlive()) return new Promise(() => undefined)
    const drive = hardware.find(one => path === one.path || path.startsWith(`${one.path}/`))
    return drive === undefined || drive.isAbsent ? Promise.reject(missing()) : operation(drive.connection)
  }
  return {
    open: (path, options) => on(path, disk => disk.open(path, options)),
    makeDirectory: path => on(path, disk => disk.makeDirectory(path)),
    list: path => on(path, disk => disk.list(path)),
    // The folder of a drive is asked for as its name and `/.`: it always exists.
    exists: async path => path === '/' || path.endsWith('/.') || on(path, disk => disk.exists(path)).catch(() => false),
    rename: (from, to) => on(from, disk => disk.rename(from, to)),
    remove: path => on(path, disk => disk.remove(path)),
    syncDirectory: path => on(path, disk => disk.syncDirectory(path)),
    space: path => on(path, disk => disk.space(path)),
  }
}

export class SimulatedPools {
  readonly random: SeededRandom
  /** By pool. */
  readonly pools: Hardware[][] = []
  readonly counts: Counts
  readonly #operationsMax: number
  readonly #runs = new Map<number, Run>()
  #nextRun = 1
  #acknowledged: number[] = []
  #nextClient = 1
  #base = 0
  #expected = new Map<string, Value>()
  readonly #time: SimulatedTime
  life = 0
  /** Clients of this life that were refused. */
  #doubts = 0
  #backend: StorageBackend | undefined
  #open: OpenPools | undefined
  #sets: ReadonlySet<OpenSet> = new Set()
  #hasFailed = false

  constructor(random: SeededRandom, counts: Counts) {
    this.random = random
    this.#time = new SimulatedTime(random, 4)
    this.counts = counts
    this.#operationsMax = 1 + random.integer(operationsMaxMax)
    this.addPool(3)
    this.addPool(2)
  }

  addPool(driveCount: number): void {
    const letter = String.fromCharCode(100 + this.pools.length)
    this.pools.push(Array.from({ length: driveCount }, (_, i) => new Hardware(`/${letter}${i}`, this.random)))
  }

  get open(): OpenPools {
    return this.#open!
  }

  /** Lets time pass and the event loop turn. */
  tick(): Promise<void> {
    return this.#time.tick()
  }

  ticking<T>(promise: Promise<T> | T, what: string): Promise<T> {
    return this.#time.until(promise, what)
  }

  /** Resolves with the error if the start is refused, or with false if it was interrupted after so many ticks. */
  async start(ticksMax = Number.POSITIVE_INFINITY): Promise<unknown> {
    const all = this.pools.flat()
    const { life } = this
    const isAlive = () => life === this.life
    const drives = createSimulatedDrives({
      config: { ...simulatedDriveConfig, segmentBytes: 256 * 1024 },
      batchBytes: 160 * 1024,
      readWindowMs: 20,
      disk: connectAll(all, isAlive),
      indexOf: path => all.find(one => one.path === path)!.index,
    })
    const sets = createSimulatedSets(drives.service, () => 1, this.#operationsMax)
    // In any order: pools are recognized by what they say.
    const named = this.pools.map(pool => pool.map(({ path }) => path))
    if (this.#base > 0 && this.random.float() < 0.5) named.reverse()
    let opened: OpenPools | undefined
    const backend = createBackend({
      procedures: {
        change: (tx, args) => {
          if (!isAlive()) throw new Error('the process has unused')
          return this.#run(tx, args)
        },
      },
      derive: () => undefined,
      endpoints: named.flat(),
      pools: named,
      threads: createSingleThread(log),
      ports: { clock: this.#time.clock, random: this.random },
      log,
      drives: drives.service,
      sets: sets.service,
      onOpen: open => {
        opened = open
      },
    })
    let outcome: unknown = 'pending'
    backend.start().then(
      () => {
        outcome = undefined
      },
      error => {
        outcome = error
      },
    )
    for (let ticks = 0; outcome === 'pending'; ticks++) {
      assert.ok(ticks < 200_000, 'a start takes for ever')
      if (ticks >= ticksMax) return false
      await this.tick()
    }
    if (outcome !== undefined) return outcome
    this.#backend = backend
    this.#open = opened
    this.#sets = sets.open
    // Blobs beside the records in some lives only.
    if (this.random.float() < 0.7) opened!.placement.exclude(0)
    return undefined
  }

  /** Ends the process. */
  crash(kinds: readonly ('power' | 'process')[]): void {
    this.life++
    this.#doubts = 0
    this.#time.forget()
    this.#backend = undefined
    this.#open = undefined
    for (const [i, drive] of this.pools.flat().entries()) drive.crash(kinds[i % kinds.length]!)
  }

  async stop(): Promise<void> {
    await this.ticking(this.#backend!.stop(), 'a stop')
    this.crash(['process'])
  }

  #run(tx: Transaction, { client, change }: { client: number; change: Change }): number {
    const key = keyOf(change.name)
    const present = tx.get(key)
    const bytes = present && Buffer.from(present.value)
    const putAgain = (to: string) => {
      const { blobs } = JSON.parse(bytes!.toString()) as Value
      tx.put(keyOf(to), bytes!, { blobs: blobs.map(({ id }) => id) })
    }
    const result = ((): unknown => {
      switch (change.kind) {
        case 'put':
          if (change.ifAbsent && present !== undefined) return 'present'
          tx.put(key, Buffer.from(JSON.stringify(change.value)), { blobs: change.value.blobs.map(({ id }) => id) })
          return 'put'
        case 'delete':
          tx.delete(key)
          return present !== undefined
        case 'move':
        case 'copy':
          if (present === undefined || change.to === change.name) return false
          // Both orders have the same result.
          if (change.kind === 'move' && client % 2 === 0) tx.delete(key)
          putAgain(change.to)
          if (change.kind === 'move' && client % 2 === 1) tx.delete(key)
          return true
      }
    })()
    const run = this.#nextRun++
    const last = tx.get(lastKey)
    const before = last === undefined ? 0 : Number(Buffer.from(last.value).toString())
    tx.put(lastKey, Buffer.from(String(run)))
    this.#runs.set(run, { client, before, change, result })
    return run
  }

  async #writeBlob(backend: StorageBackend, client: number, name: string): Promise<{ value: Value; abort: Abort }> {
    const size = this.random.pick([0, 1, 5000, 131_073, 140_000])
    const luck = this.random.float()
    const record = luck < 0.7 ? keyOf(name) : luck < 0.85 ? keyOf(this.random.pick(names)) : undefined
    const count = this.random.float() < 0.3 ? 2 : 1
    const writers = Array.from({ length: count }, () => backend.createBlob(size, { for: record }))
    const abort = async (isInDoubt = false) => {
      for (const writer of writers) if (!isInDoubt || isElsewhere(writer.id)) await writer.abort()
    }
    try {
      const blobs: BlobRef[] = []
      for (const writer of writers) {
        await writer.write(contentOf(client, size))
        const blob = await writer.finish()
        if (isElsewhere(blob.id)) this.counts.elsewhere++
        blobs.push(blob)
      }
      return { value: { id: client, size, blobs }, abort }
    } catch (error) {
      await abort()
      throw error
    }
  }

  /** A client makes a change; resolves when it is acknowledged or refused, or never. */
  async change(): Promise<void> {
    const { random, life } = this
    const backend = this.#backend!
    const client = this.#nextClient++
    const name = random.pick(names)
    const luck = random.float()
    let abort: Abort | undefined
    const joined: Promise<void>[] = []
    try {
      let change: Change
      const copies = 0.5
      if (luck < 0.15) change = { kind: 'delete', name }
      else if (luck < 0.15 + copies) {
        // Several at once, so that acquisitions of one reference meet.
        const others = Array.from({ length: random.pick([0, 0, 1, 3]) }, () => this.#copyOnly(backend, name))
        joined.push(...others)
        change = { kind: luck < 0.25 ? 'move' : 'copy', name, to: random.pick(names) }
      } else {
        const written = await this.#writeBlob(backend, client, name)
        abort = written.abort
        change = { kind: 'put', name, value: written.value, ifAbsent: random.float() < 0.3 }
        // Clients disconnect, and bodies turn out to be wrong.
        if (random.float() < 0.15) {
          await abort()
          return
        }
      }
      const run = (await backend.execute('change', { client, change })) as number
      if (life !== this.life) return
      this.#acknowledged.push(run)
      this.counts.acknowledged++
      if (this.#runs.get(run)!.result === 'present') await abort?.()
    } catch (error) {
      if (life !== this.life) return
      assert.match(String((error as { code?: string }).code), /^(unavailable|faulty)$/, String((error as Error).stack))
      this.counts.rejected++
      this.#doubts++
      await abort?.(true)
    } finally {
      await Promise.all(joined)
    }
  }

  async #copyOnly(backend: StorageBackend, name: string): Promise<void> {
    const { random, life } = this
    const client = this.#nextClient++
    const change: Change = { kind: 'copy', name, to: random.pick(names) }
    const ms = random.integer(8)
    if (ms > 0) await new Promise<void>(resolve => this.#time.clock.after(ms, resolve))
    if (life !== this.life) return
    try {
      const run = (await backend.execute('change', { client, change })) as number
      if (life !== this.life) return
      this.#acknowledged.push(run)
      this.counts.acknowledged++
    } catch (error) {
      if (life !== this.life) return
      assert.match(String((error as { code?: string }).code), /^(unavailable|faulty)$/, String((error as Error).stack))
      this.counts.rejected++
      this.#doubts++
    }
  }

  /** A drive of the set with the records fails for a while: commits that are under way are in doubt. The background work brings it back. */
  fail(): void {
    const id = this.open.sets[0]!.backend.redundant!.id
    const records = [...this.#sets].find(({ set }) => set.document.setId === id)!
    const working = records.set.members.filter(({ takesWrites }) => takesWrites)
    if (working.length === 0) return
    records.set.onLost(this.random.pick(working), storageErrors.unavailable('The drive has failed.'))
    this.counts.failed++
    this.#hasFailed = true
  }

  /** Background work of the sets, and the orphan sweep. */
  async work(): Promise<void> {
    const { signal } = new AbortController()
    const { orphanSweep } = this.open
    try {
      const luck = this.random.float()
      if (luck < 0.4) await orphanSweep.step()
      else
        for (const { repairLoop } of this.#sets) {
          if (luck < 0.6) await repairLoop.bringBack(signal)
          else if (luck < 0.8) await repairLoop.markMissingShards()
          else await repairLoop.healSome(signal)
        }
    } catch (error) {
      assert.match(String((error as { code?: string }).code), /^(unavailable|faulty)$/, String((error as Error).stack))
    }
  }

  /** Checks a storage that has come back against everything that was acknowledged. */
  async verify(): Promise<void> {
    const backend = this.#backend!
    const last = await backend.get(lastKey)
    const found = last === undefined ? 0 : Number(Buffer.from(last.value).toString())
    const chain: number[] = []
    for (let run = found; run !== this.#base; run = this.#runs.get(run)!.before) {
      assert.ok(this.#runs.has(run), `run ${run} of the chain from ${found} is older than ${this.#base}`)
      chain.push(run)
    }
    chain.reverse()
    const there = new Set(chain)
    for (const run of this.#acknowledged) assert.ok(there.has(run), `the acknowledged run ${run} is lost: ${chain}`)
    const model = new Map(this.#expected)
    for (const run of chain) {
      const { change, result } = this.#runs.get(run)!
      assert.deepEqual(applyToModel(model, change), result, 'results follow from the order')
    }
    const listed = await backend.scan(recordsStart, recordsEnd, cursor => {
      const keys: string[] = []
      while (cursor.next()) keys.push(cursor.key.latin1Slice(cursor.key.indexOf(0) + 1))
      return keys
    })
    assert.deepEqual(listed.sort(), [...model.keys()].sort(), 'exactly the records that should be there')
    for (const [name, value] of model) {
      for (const blob of value.blobs) {
        const bytes = await this.ticking(this.#read(blob), 'a read').catch(error => {
          // Written while one drive had failed, and another one is away now.
          const isDegraded = [...this.#sets].some(({ set }) => !set.isWhole)
          if (this.#hasFailed && isDegraded && !isElsewhere(blob.id)) return undefined
          throw new Error(`${name} of client ${value.id} (blob ${blob.id}) cannot be read: ${error.message}`, {
            cause: error,
          })
        })
        assert.ok(bytes?.equals(contentOf(value.id, value.size)) ?? true, `${name} has its bytes`)
      }
    }
    this.#expected = model
    this.#base = found
    this.#acknowledged = []
    this.counts.verified++
  }

  #read(blob: BlobRef): Promise<Buffer> {
    return readBlob(this.#backend!, blob)
  }

  /** After every client was answered: only what records refer to is left. */
  async quiet(): Promise<void> {
    const { orphanSweep, releaser, sets } = this.open
    if (this.#doubts > 0 && !(await this.#decide())) return
    for (let ticks = 0; ticks < 100 || releaser.count > 0; ticks++) {
      // A set without a write quorum takes no changes: it releases when it has one.
      if (ticks > 3000) return
      await this.tick()
    }
    await this.verify()
    const expected = new Set<string>()
    for (const [name, { blobs }] of this.#expected) {
      for (const { id } of blobs) if (isElsewhere(id)) expected.add(blobReferenceOf(id, groupOf(keyOf(name))))
    }
    for (const { number, backend } of sets.slice(1)) {
      const found = await backend.scan(remoteReferenceStart, remoteReferenceEnd, cursor => {
        const references = new Map<string, Buffer>()
        while (cursor.next())
          references.set(blobIdFrom(referenceFromKey(cursor.key), number), Buffer.from(cursor.value))
        return references
      })
      for (const reference of expected) {
        if (setOfBlob(reference) === number)
          assert.ok(found.has(reference), `in its run: the remote reference ${reference} is there`)
      }
      for (const [reference, value] of found) {
        if (expected.has(reference) || !isOfRun(value, orphanSweep.run)) continue
        assert.fail(`in its run: the remote reference ${reference} is left over`)
      }
    }
    this.counts.quiet++
  }

  /** Brings drives back and makes a change: then it is certain which of the changes in doubt were made. False if it cannot be made. */
  async #decide(): Promise<boolean> {
    const { signal } = new AbortController()
    for (const { repairLoop } of this.#sets) await this.ticking(repairLoop.bringBack(signal), 'bringing back')
    const acknowledged = this.counts.acknowledged
    await this.ticking(this.#copyOnly(this.#backend!, names[0]!), 'a change')
    if (this.counts.acknowledged === acknowledged) return false
    this.counts.decided++
    return true
  }

  /**
   * With no requests running and all drives there: brings all drives back, runs the orphan sweep, and finds in each set the remote
   * references of exactly those blobs that records refer to. To be called after a start, before any client.
   */
  async settle(): Promise<void> {
    const { orphanSweep, sets } = this.open
    const { signal } = new AbortController()
    for (const { repairLoop } of this.#sets) await this.ticking(repairLoop.bringBack(signal), 'bringing back')
    while (!orphanSweep.isDone) await this.ticking(orphanSweep.step(), 'a comparison')
    this.counts.collected += orphanSweep.deleted
    const referred = sets.map(() => new Map<string, number>())
    for (const [name, { blobs }] of this.#expected) {
      for (const { id, size } of blobs) {
        if (isElsewhere(id)) referred[setOfBlob(id)]!.set(idInSet(blobReferenceOf(id, groupOf(keyOf(name)))), size)
      }
    }
    for (const { number, backend } of sets.slice(1)) {
      const expected = referred[number]!
      const remoteReferences = await backend.scan(remoteReferenceStart, remoteReferenceEnd, cursor => {
        const references: string[] = []
        while (cursor.next()) references.push(referenceFromKey(cursor.key))
        return references
      })
      assert.deepEqual(
        remoteReferences.sort(),
        [...expected.keys()].sort(),
        `remote references of set ${number} are what records refer to`,
      )
      for (const group of ['p', 'q']) {
        const sizes = [...expected]
          .filter(([reference]) => groupOfReference(reference) === group)
          .map(([, size]) => size)
        const { total, below } = await backend.redundant!.amounts([remoteReferencesOf(group)])
        const bytes = sizes.reduce((sum, size) => sum + size, 0)
        assert.deepEqual(total, { records: sizes.length, bytes }, `what set ${number} has of ${group}`)
        assert.ok(below.records <= total.records && below.bytes <= total.bytes)
      }
    }
    this.counts.exact++
  }
}
