/**
 * A set over simulated hardware, with clients, and a model of what must be true. Every transaction is a *run* with a number. It writes its
 * number into one record, after reading the number of the run before it there. So a set that comes back tells which runs it consists of,
 * whichever drive led: the chain from its last run back to the last verified one.
 */
import assert from 'node:assert/strict'
import { pino } from 'pino'
import type { MaybePromise } from 'svc/kernel'
import type { Drive } from 'svc/plugins/drive/api'
import {
  createSimulatedDrives,
  type SimulatedDisk,
  type SimulatedDrives,
  simulatedDriveConfig,
} from 'svc/plugins/drive/testing'
import type { BlobRef, Procedure, StorageBackend, Transaction } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { contentOf, createSingleThread, type SeededRandom, SimulatedTime } from 'svc/testing'
import { createBackend, type OpenSet } from '../backend.ts'
import { shardUnitOf } from '../layout.ts'
import { decodeLeastParity, leastParityKey } from '../least-parity.ts'
import type { Member } from '../member.ts'
import { ledgerKey, progressKey, ringKey, setKey, tableByte, totalKey } from '../set-keys.ts'
import { dataBytesOf, generationsOf, headOf, identityOf } from '../set-record.ts'
import { connectAll, SimulatedHardware } from './simulated-hardware.ts'

const keyCount = 10
/** The bound of `boundedDisk` is drawn: from 1 to this. */
const operationsMaxMax = 3
const lastKey = Buffer.from('last')
const keyOf = (name: string) => Buffer.from(`t${name}`, 'latin1')
const start = Buffer.from([0])
const ringByte = ringKey(0)[1]
const end = Buffer.from([0xff, 0xff])
const allGroups = Buffer.alloc(0)
const log = pino({ level: process.env.LOG ?? 'silent' })

interface Value {
  readonly id: number
  readonly size: number
  readonly isReduced: boolean
  readonly blob?: BlobRef
}

type Change =
  | { readonly kind: 'put'; readonly name: string; readonly value: Value; readonly ifAbsent?: boolean }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'move'; readonly name: string; readonly to: string }
  | { readonly kind: 'copy'; readonly name: string; readonly to: string }
  | { readonly kind: 'touch'; readonly name: string }

interface Run {
  readonly client: number
  readonly before: number
  readonly sequence: number
  readonly change: Change
  readonly result: unknown
}

export interface Counts {
  acknowledged: number
  rejected: number
  verified: number
  healed: number
  /** How often everything was said to be redundant, and was. */
  honest: number
  recounts: number
  reads: number
  operations: number
}

/** What a change does to a plain map: the specification of the procedure below. */
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
      if (present === undefined || change.to === change.name) return false
      model.set(change.to, present)
      model.delete(change.name)
      return true
    case 'copy':
      if (present?.blob === undefined) return false
      model.set(change.to, present)
      return true
    case 'touch':
      return present !== undefined
  }
}

export class SimulatedSet {
  readonly random: SeededRandom
  readonly hardware: SimulatedHardware[]
  readonly parityCount: number
  /** Parity of every other body, if it is less than that of the set. */
  readonly reducedParityCount: number
  readonly #paths: readonly string[]
  /** With few threads a drive does one thing after the other; changes then wait for each other longer. */
  readonly #operationsMax: number
  #runs = new Map<number, Run>()
  #nextRun = 1
  #acknowledged: number[] = []
  /** Clients whose change was certainly refused. */
  #refused = new Set<number>()
  #nextClient = 1
  /** The last verified run, and the content of the set then. */
  #base = 0
  #expected = new Map<string, Value>()
  readonly #time: SimulatedTime
  #life = 0
  #backend: StorageBackend | undefined
  #open: OpenSet | undefined
  #drives: SimulatedDrives | undefined
  readonly counts: Counts

  constructor(
    random: SeededRandom,
    driveCount: number,
    parity: { readonly parityCount: number; readonly reducedParityCount: number },
    counts: Counts,
  ) {
    this.random = random
    this.#time = new SimulatedTime(random, 4)
    this.parityCount = parity.parityCount
    this.reducedParityCount = parity.reducedParityCount
    this.counts = counts
    this.#operationsMax = 1 + random.integer(operationsMaxMax)
    this.#paths = Array.from({ length: driveCount }, (_, i) => `/d${i}`)
    this.hardware = this.#paths.map(path => new SimulatedHardware(path, random, 2 ** 40))
  }

  get open(): OpenSet {
    return this.#open!
  }

  /** It has started before. */
  isMade = false

  get life(): number {
    return this.#life
  }

  /** Lets time pass and the event loop turn. */
  tick(): Promise<void> {
    return this.#time.tick()
  }

  ticking<T>(promise: Promise<T> | T, what: string): Promise<T> {
    return this.#time.until(promise, what)
  }

  /** Resolves with the error if the set refuses to start, or with false if it was interrupted after so many ticks. */
  async start(ticksMax = Number.POSITIVE_INFINITY): Promise<unknown> {
    const life = this.#life
    this.#drives = createSimulatedDrives({
      config: { ...simulatedDriveConfig, segmentBytes: 256 * 1024 },
      batchBytes: 160 * 1024,
      readWindowMs: 20,
      disk: connectAll(this.hardware, () => life === this.#life),
      indexOf: path => this.hardware[this.#paths.indexOf(path)]!.index,
    })
    let opened: OpenSet | undefined
    const backend = createBackend({
      procedures: { change: this.#createProcedure() },
      derive: () => undefined,
      endpoints: this.#paths,
      parityCount: this.parityCount,
      reducedParityCount: this.reducedParityCount,
      isMount: async () => true,
      // The folders are on no file system: asking the real one would take a time that does not depend on the seed.
      sharedFileSystems: async () => [],
      threads: createSingleThread(log),
      operationsMax: this.#operationsMax,
      ports: { clock: this.#time.clock, random: this.random },
      log,
      drives: this.#drives.service,
      // Long enough that no drive times out only because the others were scheduled earlier.
      tickMs: 100,
      onOpen: open => {
        opened = open
      },
    })
    let outcome: unknown = 'pending'
    Promise.resolve(backend.start()).then(
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
    this.isMade = true
    return undefined
  }

  trace(what: string): void {
    if (process.env.TRACE) console.error(`${this.#life} ${this.#time.nowMs}: ${what}`)
  }

  /** Ends the process. */
  crash(kinds: readonly ('power' | 'process')[]): void {
    this.#life++
    this.#time.forget()
    this.#backend = undefined
    this.#open = undefined
    for (const [i, hardware] of this.hardware.entries()) hardware.crash(kinds[i % kinds.length]!)
  }

  async stop(): Promise<void> {
    const backend = this.#backend!
    await this.ticking(Promise.resolve(backend.stop()), 'a stop')
    this.crash(['process'])
  }

  #createProcedure(): Procedure {
    const life = this.#life
    return (tx, args, body) => {
      // What a process does after its end is ignored.
      if (life !== this.#life) throw new Error('the process has ended')
      return this.#run(tx, args, body)
    }
  }

  #run(tx: Transaction, args: { client: number; change: Change }, body: Uint8Array | undefined): unknown {
    const { client, change } = args
    const key = keyOf(change.name)
    const present = tx.get(key)
    const value = present && (JSON.parse(Buffer.from(present.value).toString()) as Value)
    const bytes = present && Buffer.from(present.value)
    const putAgain = (to: Buffer) =>
      tx.put(to, bytes!, value!.blob === undefined ? { bodyOf: key } : { blobs: [value!.blob.id] })
    const result = ((): unknown => {
      switch (change.kind) {
        case 'put':
          if (change.ifAbsent && present !== undefined) return 'present'
          // Some transactions write a record more than once: only the last counts.
          if (client % 5 === 1) tx.put(key, Buffer.from('first'), { body: Buffer.from('of the first') })
          if (client % 5 === 2) tx.put(key, Buffer.from('first'))
          tx.put(key, Buffer.from(JSON.stringify(change.value)), {
            body,
            blobs: change.value.blob ? [change.value.blob.id] : [],
          })
          return 'put'
        case 'delete':
          tx.delete(key)
          return present !== undefined
        case 'move':
          if (present === undefined || change.to === change.name) return false
          putAgain(keyOf(change.to))
          tx.delete(key)
          return true
        case 'copy':
          if (value?.blob === undefined) return false
          putAgain(keyOf(change.to))
          return true
        case 'touch':
          if (present === undefined) return false
          putAgain(key)
          return true
      }
    })()
    const run = this.#nextRun++
    const last = tx.get(lastKey)
    const before = last === undefined ? 0 : Number(Buffer.from(last.value).toString())
    tx.put(lastKey, Buffer.from(String(run)))
    this.trace(`run ${run} of ${client}: ${JSON.stringify(change)} gives ${JSON.stringify(result)}`)
    this.#runs.set(run, { client, before, sequence: tx.sequence, change, result })
    return run
  }

  #isReduced(): boolean {
    return this.reducedParityCount < this.parityCount && this.random.float() < 0.5
  }

  #randomChange(client: number): { change: Change; body: Buffer | undefined } {
    const { random } = this
    const letter = () => String.fromCharCode(97 + random.integer(keyCount))
    const name = letter()
    const luck = random.float()
    if (luck < 0.15) return { change: { kind: 'delete', name }, body: undefined }
    if (luck < 0.3) return { change: { kind: 'move', name, to: letter() }, body: undefined }
    if (luck < 0.37) return { change: { kind: 'copy', name, to: letter() }, body: undefined }
    if (luck < 0.45) return { change: { kind: 'touch', name }, body: undefined }
    const size = random.float() < 0.02 ? 131_072 : random.pick([0, 1, 100, 511, 512, 513, 1000, 4097, 9000])
    const value = { id: client, size, isReduced: this.#isReduced() }
    return { change: { kind: 'put', name, value, ifAbsent: random.float() < 0.2 }, body: contentOf(client, size) }
  }

  /** A client makes a change; resolves when it is acknowledged or refused, or never. */
  async change(): Promise<void> {
    const backend = this.#backend!
    const life = this.#life
    const client = this.#nextClient++
    let { change, body } = this.#randomChange(client)
    try {
      if (change.kind === 'put' && this.random.float() < 0.25) {
        change = { ...change, value: await this.#writeBlob(backend, client) }
        body = undefined
      }
      const isReduced = change.kind === 'put' && change.value.isReduced
      const options = isReduced ? ({ redundancy: 'reduced' } as const) : undefined
      const run = (await backend.execute('change', { client, change }, body, options)) as number
      if (life !== this.#life) return
      assert.equal(this.#runs.get(run)!.client, client)
      this.#acknowledged.push(run)
      this.trace(`run ${run} is acknowledged`)
      this.counts.acknowledged++
    } catch (error) {
      if (life !== this.#life) return
      const { code } = error as { code: string }
      assert.match(String(code), /^(full|faulty|unavailable|EIO)$/, String((error as Error).stack))
      if (code === 'full') this.#refused.add(client)
      this.trace(`client ${client} is refused: ${(error as Error).message}`)
      this.counts.rejected++
    }
  }

  async #writeBlob(backend: StorageBackend, client: number): Promise<Value> {
    const isReduced = this.#isReduced()
    const parityCount = isReduced ? this.reducedParityCount : this.parityCount
    const stripe = (this.hardware.length - parityCount) * 65_536
    const size = this.random.pick([0, 1, 5000, 131_073, stripe - 1, stripe, stripe + 1])
    const writer = backend.createBlob(size, isReduced ? { redundancy: 'reduced' } : {})
    try {
      const content = contentOf(client, size)
      const step = this.random.pick([1000, 65_536, 300_000])
      for (let at = 0; at < size; at += step) await writer.write(content.subarray(at, at + step))
      const blob = await writer.finish()
      return { id: client, size, isReduced, blob }
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  /** Reads a record as a client does: must be right, or an honest error. */
  async read(): Promise<void> {
    const life = this.#life
    const key = keyOf(String.fromCharCode(97 + this.random.integer(keyCount)))
    let releases: (() => void) | undefined
    try {
      const record = await this.#backend!.get(key)
      if (record === undefined) return
      const value = JSON.parse(Buffer.from(record.value).toString()) as Value
      if (value.blob !== undefined) releases = this.#backend!.pinBlobs([value.blob])
      const bytes = await this.#bytesOf(value, record.body)
      assert.ok(bytes.equals(contentOf(value.id, value.size)), `${key} is read wrong`)
      this.counts.reads++
    } catch (error) {
      if (life !== this.#life) return
      assert.match(String((error as { code?: string }).code), /^(gone|unavailable)$/, String((error as Error).stack))
    } finally {
      releases?.()
    }
  }

  async #bytesOf(value: Value, body: unknown): Promise<Buffer> {
    if (value.blob === undefined) return this.#backend!.readBody(body as never)
    return readBlob(this.#backend!, value.blob, 0, value.size)
  }

  /** Background work of the drives. */
  housekeep(): void {
    for (const one of this.#drives!.open) {
      const luck = this.random.float()
      const { signal } = new AbortController()
      if (luck < 0.3) one.drive.prepareJournal()
      else if (luck < 0.6) one.run(signal, ended => one.drive.collectGarbage(ended)).catch(() => undefined)
      else one.run(signal, ended => one.drive.compaction.work(ended)).catch(() => undefined)
    }
  }

  /** Whether the drive is open in this life. */
  isOpen(path: string): boolean {
    for (const { drive } of this.#drives!.open) if (drive.path === path) return true
    return false
  }

  /** A start does not wait for drives that are slow to open or to catch up, if there are enough others. */
  async #arrivals(): Promise<void> {
    const { set, repairLoop } = this.open
    const isComing = ({ returning, index }: Member) => returning !== undefined && !this.hardware[index]!.isHanging
    for (let ticks = 0; set.members.some(isComing); ticks++) {
      assert.ok(ticks < 200_000, 'a drive opens for ever')
      await this.tick()
    }
    await this.ticking(repairLoop.bringBack(new AbortController().signal), 'bringing back')
  }

  /** Checks a set that has come back against everything that was acknowledged. */
  async verify(): Promise<void> {
    await this.#arrivals()
    const last = await this.#backend!.get(lastKey)
    const found = last === undefined ? 0 : Number(Buffer.from(last.value).toString())
    const chain: number[] = []
    for (let run = found; run !== this.#base; run = this.#runs.get(run)!.before) {
      assert.ok(
        this.#runs.has(run),
        `run ${run} of the chain from ${found} was verified to be gone, or is older than ${this.#base}`,
      )
      chain.push(run)
    }
    chain.reverse()
    const there = new Set(chain)
    for (const run of this.#acknowledged) assert.ok(there.has(run), `the acknowledged run ${run} is lost: ${chain}`)
    const model = new Map(this.#expected)
    let sequence = 0
    for (const run of chain) {
      const { change, result, client, sequence: next } = this.#runs.get(run)!
      assert.ok(!this.#refused.has(client), `run ${run} was refused and is there`)
      assert.ok(next > sequence, `the sequence of run ${run} is not greater than that before`)
      sequence = next
      assert.deepEqual(applyToModel(model, change), result, 'results follow from the order')
    }
    await this.#compare(model)
    this.#expected = model
    this.#base = found
    this.#acknowledged = []
    if (this.open.set.epoch !== 0) {
      // Runs outside of the chain must never come back. Without a write quorum this cannot be guaranteed.
      this.#runs = new Map()
      this.#refused.clear()
    }
    this.counts.verified++
  }

  async #compare(model: ReadonlyMap<string, Value>): Promise<void> {
    const backend = this.#backend!
    const names = await backend.scan(keyOf(''), Buffer.from('u'), cursor => {
      const found: string[] = []
      while (cursor.next()) found.push(cursor.key.latin1Slice(1))
      return found
    })
    assert.deepEqual(names, [...model.keys()].sort(), 'exactly the records that should be there')
    for (const [name, value] of model) {
      const record = (await backend.get(keyOf(name)))!
      assert.deepEqual(JSON.parse(Buffer.from(record.value).toString()), value, 'with their values')
      const bytes = await this.ticking(
        this.#bytesOf(value, record.body).catch(error => {
          const known = this.open.set.members.map(({ slot, state, generation }) => `${slot} ${state} ${generation}`)
          const raw = this.open.set.leader().drive.get(keyOf(name)) as { value: Uint8Array }
          throw new Error(
            `${name} (${JSON.stringify(value)}) cannot be read: ${error.message} Its shards: ${generationsOf(raw.value).join()}; slots: ${known.join(', ')}`,
            { cause: error },
          )
        }),
        'a read',
      )
      assert.ok(bytes.equals(contentOf(value.id, value.size)), `${name} has its bytes`)
    }
  }

  /** At any instant the ledger equals what follows from the records. */
  recount(): void {
    const { set } = this.open
    if (set.currentCount === 0) return
    const drive = set.leader().drive
    const generations = Buffer.from(set.members.map(({ generation }) => generation))
    const total = [0, 0]
    const whole = [0, 0]
    drive.scan(start, end, cursor => {
      while (cursor.next()) {
        if (cursor.key[0] === tableByte) continue
        const own = generationsOf(cursor.value)
        if (own.length === 0) continue
        total[0]!++
        total[1]! += dataBytesOf(cursor.value)
        if (!own.equals(generations)) continue
        whole[0]!++
        whole[1]! += dataBytesOf(cursor.value)
      }
    })
    assert.deepEqual(padded(drive.counter(totalKey(allGroups))), total, 'the ledger knows all records')
    assert.deepEqual(padded(drive.counter(ledgerKey(allGroups, generations))), whole, 'and those that lack nothing')
    this.counts.recounts++
  }

  /** Repairs all that can be repaired. Resolves with the slots that lack nothing of what they should have. */
  async heal(): Promise<ReadonlySet<number>> {
    const { set, repairLoop, ledger } = this.open
    const { signal } = new AbortController()
    for (let attempt = 0; ; attempt++) {
      await this.ticking(repairLoop.bringBack(signal), 'bringing back')
      let isMore = true
      for (let i = 0; isMore; i++) {
        if (i >= 200) throw new Error(`healing does not end: ${JSON.stringify(await this.#inspect())}`)
        await this.ticking(repairLoop.markMissingShards(), 'marking')
        isMore = await this.ticking(repairLoop.healSome(signal), 'healing')
        this.recount()
      }
      await this.#requireHonesty()
      while (await this.ticking(repairLoop.scrubSome(signal), 'scrubbing')) this.recount()
      for (const { index, state } of set.members) if (state === 'current') this.#rotten.delete(this.hardware[index]!)
      const wanted = this.hardware.filter(({ isAbsent, isHanging }) => !isAbsent && !isHanging).length
      const { lacking } = await this.#inspect()
      const reading = await this.ticking(ledger.read(), 'reading the ledger')
      if (lacking.length === 0 && set.currentCount >= Math.min(wanted, this.usable)) {
        if (set.isWhole) assert.deepEqual(reading.below, { records: 0, bytes: 0 }, 'nothing is below')
        break
      }
      assert.ok(attempt < 5, `healing leaves ${JSON.stringify(lacking)}; ${set.currentCount} of ${wanted} are current`)
      // Records that could not be healed are tried again after a while.
      this.#time.pass(61_000)
      await this.tick()
    }
    this.counts.healed++
    // A damaged journal is only repaired when it is read, which takes days: until then its drive may not open without its index.
    const isWhole = ({ state, index }: Member) =>
      state === 'current' && !this.#rottenJournals.has(this.hardware[index]!.disk)
    return new Set(set.members.filter(isWhole).map(({ index }) => index))
  }

  /** Drives with damage that nobody has read yet. */
  readonly #rotten = new Set<SimulatedHardware>()

  readonly #rottenJournals = new WeakSet<SimulatedDisk>()

  /** If nothing is reported as missing, nothing is, even before anybody has checked. */
  async #requireHonesty(): Promise<void> {
    const { set, repairLoop, ledger, healing } = this.open
    const isFull = set.isWhole && repairLoop.unmarkedShardCount === 0 && (await ledger.read()).below.records === 0
    if (!isFull || this.#rotten.size > 0) return
    for (const [text, record] of await dump(set.leader().drive)) {
      if (text.charCodeAt(0) === tableByte) continue
      const key = Buffer.from(text, 'latin1')
      const head = headOf(Buffer.from(record, 'latin1'))
      if (head.generations.length === 0) continue
      for (const member of set.members) {
        const state = await this.ticking(healing.lookAtShards(member, key, head), 'a look')
        assert.equal(state, 'ok', `the shards of ${text} on ${member.slot}, which nobody says to be missing`)
      }
    }
    this.counts.honest++
  }

  /** How many drives can be opened at all. */
  get usable(): number {
    return this.open.set.members.filter(({ isOpen }) => isOpen).length
  }

  /**
   * With no requests running: all current drives have the same records, and what these say of shards is true. Resolves with the shards
   * that they say are missing on online drives.
   */
  async #inspect(): Promise<{ lacking: string[] }> {
    const { set } = this.open
    const leader = set.leader() as Member
    const records = await dump(leader.drive)
    const current = set.members.filter(({ state }) => state === 'current')
    for (const member of current) {
      assert.deepEqual(
        await dump(member.drive),
        records,
        `drive ${member.slot} has the records of drive ${leader.slot}`,
      )
      await this.#inspectStaged(member)
    }
    const noted = records.get(leastParityKey.latin1Slice())
    const least = noted === undefined ? this.parityCount : decodeLeastParity(Buffer.from(noted, 'latin1'))
    const lacking: string[] = []
    for (const [text, record] of records) {
      if (text.charCodeAt(0) === tableByte) continue
      const key = Buffer.from(text, 'latin1')
      const bytes = Buffer.from(record, 'latin1')
      const head = headOf(bytes)
      for (const { slot, generation, drive } of current) {
        if (head.generations.length === 0) continue
        assert.ok(least <= head.parityCount, `${text} has less parity than is noted, ${least}`)
        if (head.generations[slot] !== generation) {
          lacking.push(`${text} on ${slot}`)
          continue
        }
        if (head.body === 'sharded') {
          const own = (await drive.get(key))!
          assert.equal(identityOf(own.value), head.identity)
          assert.ok(own.body !== undefined, `drive ${slot} has the shard of ${text} that it says it has`)
          const shard = await this.ticking(Promise.resolve(drive.readBody(own.body)), 'a shard')
          const value = this.#expected.get(text.slice(1))!
          const isRight = shard.equals(this.#shardOf(value, slot, head.rotation))
          const like = set.members.filter(one => shard.equals(this.#shardOf(value, one.slot, head.rotation)))
          assert.ok(
            isRight,
            `the shard of ${text} on ${slot} (${shard.length} bytes) is wrong: ${JSON.stringify({ value, head, like: like.map(one => one.slot) })}`,
          )
        }
      }
    }
    return { lacking }
  }

  async #inspectStaged({ drive, slot }: Member): Promise<void> {
    const staged = await drive.scan(Buffer.from('eb'), Buffer.from('ec'), cursor => cursor.next())
    if (staged) this.leftStaged.add(slot)
  }

  readonly leftStaged = new Set<number>()

  #shardOf({ id, size, isReduced }: Value, slot: number, rotation: number): Buffer {
    const { slotCount } = this.open.set
    const parityCount = isReduced ? this.reducedParityCount : this.parityCount
    const unit = shardUnitOf(size, slotCount - parityCount)
    const padding = Buffer.alloc(unit * slotCount)
    contentOf(id, size).copy(padding)
    const shards = Array.from({ length: slotCount }, (_, i) => padding.subarray(i * unit, (i + 1) * unit))
    this.open.set.codeOf(parityCount).encode(shards)
    return shards[(slot - rotation + slotCount) % slotCount]!
  }

  /** Flips bits on a drive between two lives. */
  rot(hardware: SimulatedHardware): void {
    this.#rotten.add(hardware)
    const { disk, path } = hardware
    const folder = this.random.float() < 0.8 ? 'blobs' : 'journal'
    if (folder === 'journal') this.#rottenJournals.add(disk)
    const files = disk.files(`${path}/${folder}`).filter(file => disk.sizeOf(file) > 0)
    for (let count = 1 + this.random.integer(6); count > 0 && files.length > 0; count--) {
      const file = this.random.pick(files)
      disk.flipBit(file, this.random.integer(disk.sizeOf(file)), this.random.integer(8))
    }
  }
}

function padded(answer: MaybePromise<readonly number[]>): readonly number[] {
  const sums = answer as readonly number[]
  return sums.length === 0 ? [0, 0] : sums
}

/** All records but those that each drive has of its own. The ring is no such record: any of the drives may lead, and others trust its ring. */
async function dump(drive: Drive): Promise<Map<string, string>> {
  return drive.scan(start, end, cursor => {
    const records = new Map<string, string>()
    while (cursor.next()) {
      const isShared = cursor.key.equals(setKey) || cursor.key.equals(progressKey) || cursor.key[1] === ringByte
      const isOwn = cursor.key[0] === tableByte && !isShared
      if (!isOwn) records.set(cursor.key.latin1Slice(), Buffer.from(cursor.value).latin1Slice())
    }
    return records
  })
}
