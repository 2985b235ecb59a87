/**
 * One drive over simulated hardware, with clients, and a model that predicts its content. The model is the list of transactions
 * in the order in which they ran. Every transaction also writes its sequence into one record, so a reopened drive shows how far
 * it recovered.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import type { BlobRef, Procedure, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import type { SeededRandom } from 'svc/testing'
import { contentOf, SimulatedTime } from 'svc/testing'
import { createBlobId } from '../blob-files.ts'
import { Drive } from '../drive.ts'
import { checkIndex } from '../index-check.ts'
import { noLock } from '../lock.ts'
import { SimulatedIndex, simulatedDriveConfig } from '../testing.ts'
import type { DriveTransaction } from '../transaction.ts'
import { countKey, deriveCount, derivedKey, recordKey, tableByte } from './fixtures/table.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const path = '/drive'
const lastKey = Buffer.from('last')
const keyCount = 12

interface Value {
  readonly id: number
  readonly bodySize: number
  readonly blob?: BlobRef
}

type Change =
  | { readonly kind: 'put'; readonly name: string; readonly value: Value; readonly ifAbsent?: boolean }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'move'; readonly name: string; readonly to: string }
  | { readonly kind: 'copy'; readonly name: string; readonly to: string }
  | { readonly kind: 'touch'; readonly name: string; readonly value: Value }

interface Logged {
  readonly id: number
  readonly sequence: number
  readonly change: Change
  readonly result: unknown
}

/** Applies a change to a plain map: the specification of the procedure below. */
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
      // The record keeps its body or blob, whatever the new value says.
      if (present === undefined) return false
      model.set(change.name, { ...present, id: present.id })
      return true
  }
}

export class SimulatedDrive {
  readonly random: SeededRandom
  readonly disk: SimulatedDisk
  readonly index: SimulatedIndex
  #transactions: Logged[] = []
  /** Sequence of the newest run of each transaction; earlier runs were rolled back. */
  #runs = new Map<number, number>()
  #acknowledged = 0
  /** Transactions refused for lack of space; they must never become visible. */
  #refused = new Set<number>()
  #nextId = 1
  readonly #time: SimulatedTime
  #blobs = new Map<string, Value>()
  drive: Drive | undefined
  #expected = new Map<string, Value>()
  /** Errors that the drive logged in this run. */
  complaints: string[] = []
  #seen = 0
  #life = 0
  #wrongCheck: string | undefined
  readonly #capacityBytes: number
  counts = { acknowledged: 0, rejected: 0, replays: 0, compacted: 0, recovered: 0 }

  constructor(random: SeededRandom, capacityBytes?: number) {
    this.random = random
    this.#time = new SimulatedTime(random, 8)
    this.disk = new SimulatedDisk({ random, capacityBytes })
    this.#capacityBytes = this.disk.capacityBytes
    this.disk.tellsSpace = random.float() < 0.5
    this.index = new SimulatedIndex(random)
  }

  /** Advances time and lets the event loop turn. */
  tick(): Promise<void> {
    return this.#time.tick()
  }

  async start(): Promise<void> {
    const opening = Drive.open({
      path,
      config: simulatedDriveConfig,
      batchBytes: 16 * 1024,
      readWindowMs: 20,
      procedures: { change: this.#createProcedure() },
      derive: (key, before, after, emit) => {
        if (key[0] === tableByte) deriveCount(key, before, after, emit)
      },
      ports: { clock: this.#time.clock, random: this.random, disk: this.disk.connect() },
      log: this.#drivesLog,
      index: {
        open: async () => this.index.open(),
        check: async () => {
          const problem = checkIndex(this.index.open())
          if (this.index.isRotten !== (problem !== undefined)) this.#wrongCheck = problem ?? 'rot was not noticed'
          return { problem, isWhole: true }
        },
        filesOf: () => [],
        setAside: async () => this.index.remove(),
        hasAside: async () => false,
        discardAside: async () => undefined,
      },
      lock: () => noLock,
    })
    let settled = false
    opening.then(
      () => {
        settled = true
      },
      () => {
        settled = true
      },
    )
    while (!settled) await this.tick()
    this.drive = await opening
    if (this.random.float() < 0.7) void this.drive.collectGarbage(new AbortController().signal)
  }

  #createProcedure(): Procedure {
    const life = this.#life
    return (tx, args, body) => {
      // Results after the process has ended do not count.
      if (life !== this.#life) throw new Error('the process has ended')
      return this.#run(tx, args, body)
    }
  }

  #run(tx: Transaction, args: { id: number; change: Change }, body: Uint8Array | undefined): unknown {
    const { id, change } = args
    const key = recordKey(change.name)
    const present = tx.get(key)
    const encode = (value: Value) => Buffer.from(JSON.stringify(value))
    const result = ((): unknown => {
      switch (change.kind) {
        case 'put':
          if (change.ifAbsent && present !== undefined) return 'present'
          // Some transactions write a record more than once; only the last write counts.
          if (id % 5 === 1) tx.put(key, Buffer.from('first'), { body: Buffer.from('of the first') })
          if (id % 5 === 2) tx.put(key, Buffer.from('first'))
          tx.put(key, encode(change.value), { body, blobs: change.value.blob ? [change.value.blob.id] : [] })
          return 'put'
        case 'delete':
          tx.delete(key)
          return present !== undefined
        case 'move': {
          if (present === undefined || change.to === change.name) return false
          const value = JSON.parse(Buffer.from(present.value).toString()) as Value
          const blobs = value.blob ? [value.blob.id] : []
          tx.put(recordKey(change.to), present.value, { bodyOf: key, blobs })
          tx.delete(key)
          return true
        }
        case 'copy': {
          const value = present && (JSON.parse(Buffer.from(present.value).toString()) as Value)
          if (value?.blob === undefined) return false
          tx.put(recordKey(change.to), present!.value, { blobs: [value.blob.id] })
          return true
        }
        case 'touch': {
          if (present === undefined) return false
          const value = JSON.parse(Buffer.from(present.value).toString()) as Value
          tx.put(key, present.value, { bodyOf: key, blobs: value.blob ? [value.blob.id] : [] })
          return true
        }
      }
    })()
    tx.put(lastKey, Buffer.from(String(tx.sequence)))
    // The engine is about to refuse it; a crash may come before the client hears of that.
    if ((tx as DriveTransaction).needsRoom && this.drive!.space.isFull()) this.#refused.add(id)
    else this.#refused.delete(id)
    this.#transactions.push({ id, sequence: tx.sequence, change, result })
    this.#runs.set(id, tx.sequence)
    return { sequence: tx.sequence, result }
  }

  #randomChange(): { change: Change; body: Buffer | undefined } {
    const { random } = this
    const name = String.fromCharCode(97 + random.integer(keyCount))
    const luck = random.float()
    const id = this.#nextId
    if (luck < 0.15) return { change: { kind: 'delete', name }, body: undefined }
    if (luck < 0.3) {
      const to = String.fromCharCode(97 + random.integer(keyCount))
      return { change: { kind: 'move', name, to }, body: undefined }
    }
    if (luck < 0.35) {
      const to = String.fromCharCode(97 + random.integer(keyCount))
      return { change: { kind: 'copy', name, to }, body: undefined }
    }
    if (luck < 0.4) return { change: { kind: 'touch', name, value: { id, bodySize: 0 } }, body: undefined }
    const bodySize = random.pick([0, 1, 100, 512, 3000, 9000])
    const value = { id, bodySize }
    return {
      change: { kind: 'put', name, value, ifAbsent: random.float() < 0.2 },
      body: contentOf(id, bodySize),
    }
  }

  /** The log tells when a batch was rolled back for lack of space: its transactions never happened unless they run again. */
  readonly #drivesLog = Object.assign(pino({ level: 'silent' }), {
    error: (facts: unknown, message: string) => {
      this.complaints.push(`${message} ${JSON.stringify(facts)}`)
    },
    debug: (_facts: unknown, message: string) => {
      if (!message.startsWith('a batch found no space') || this.drive === undefined) return
      const last = this.drive.get(lastKey)
      const visible = last === undefined ? 0 : Number(Buffer.from(last.value))
      this.#transactions = this.#transactions.filter(({ sequence }) => sequence <= visible)
    },
  })

  /** A client that makes a change; resolves when the change is acknowledged or refused, or never. */
  async change(): Promise<void> {
    const drive = this.drive!
    const life = this.#life
    let { change, body } = this.#randomChange()
    const id = this.#nextId++
    if (change.kind === 'put' && this.random.float() < 0.2) {
      const value = await this.#writeBlob(drive, id)
      if (value === undefined) return
      change = { ...change, value }
      body = undefined
    }
    try {
      const { sequence } = (await drive.execute('change', { id, change }, body)) as { sequence: number }
      assert.equal(sequence, this.#runs.get(id), 'the acknowledged run is the newest')
      this.#acknowledged = Math.max(this.#acknowledged, sequence)
      this.counts.acknowledged++
    } catch (error) {
      if (life !== this.#life) return
      const { code } = error as { code: string }
      assert.match(code, /^(full|faulty|unavailable)$/, String((error as Error).stack))
      // A failed drive's rejected changes may be on the disk all the same: they are in doubt, as after a crash.
      if (code === 'full') this.#refused.add(id)
      this.counts.rejected++
    }
  }

  async #writeBlob(drive: Drive, id: number): Promise<Value | undefined> {
    const size = this.random.pick([0, 1, 5000, 300_000])
    const isNamed = this.random.float() < 0.5
    const writer = drive.createBlob(isNamed ? createBlobId(this.#time.nowMs, this.random) : undefined)
    try {
      if (this.random.float() < 0.3) await this.#rewriteBlob(drive)
      const content = contentOf(id, size)
      const step = this.random.pick([1000, 65_536, 300_000])
      for (let at = 0; at < size; at += step) await writer.write(content.subarray(at, at + step))
      const blob = await writer.finish()
      const value = { id, bodySize: size, blob }
      this.#blobs.set(blob.id, value)
      return value
    } catch (error) {
      if (drive !== this.drive) return undefined
      assert.match((error as { code: string }).code, /^(full|faulty)$/, String((error as Error).stack))
      await writer.abort()
      return undefined
    }
  }

  /** Writes a blob of any run again. Whatever the outcome, a reader gets all of its bytes or `gone`. */
  async #rewriteBlob(drive: Drive): Promise<void> {
    if (this.#blobs.size === 0) return
    const value = this.random.pick([...this.#blobs.values()])
    const writer = drive.createBlob(value.blob!.id)
    try {
      await writer.write(contentOf(value.id, value.bodySize))
      assert.deepEqual(await writer.finish(), value.blob)
    } finally {
      if (this.random.float() < 0.5) await writer.abort()
    }
  }

  /** Reads as a reader does: only durable changes, which can no longer be lost. */
  look(): void {
    const last = this.drive!.get(lastKey)
    if (last !== undefined) this.#seen = Math.max(this.#seen, Number(Buffer.from(last.value)))
    assert.ok(this.#seen >= this.#acknowledged, 'invariant 1: a reader sees every acknowledged write')
  }

  crash(kind: 'power' | 'process'): void {
    this.#life++
    this.#time.forget()
    this.drive = undefined
    if (kind === 'power') {
      this.disk.losePower()
      this.index.losePower()
    } else {
      this.disk.crash()
      this.index.crash()
    }
  }

  async stop(): Promise<void> {
    const closing = this.drive!.close()
    let isClosed = false
    closing.then(() => {
      isClosed = true
    })
    while (!isClosed) await this.tick()
    this.drive = undefined
    this.#time.forget()
  }

  /** Checks a reopened drive against every guarantee. */
  async verify(): Promise<void> {
    const drive = this.drive!
    assert.equal(this.#wrongCheck, undefined, 'invariant 3: the digest is that of the index')
    const last = drive.get(lastKey)
    const recovered = last === undefined ? 0 : Number(Buffer.from(last.value))
    assert.ok(
      recovered >= this.#acknowledged,
      `invariant 1: ${recovered} has lost the acknowledged ${this.#acknowledged}`,
    )
    assert.ok(recovered >= this.#seen, `invariant 1: a reader had seen ${this.#seen}, the drive has ${recovered}`)
    const model = new Map(this.#expected)
    for (const entry of this.#transactions) {
      if (entry.sequence > recovered || this.#runs.get(entry.id) !== entry.sequence) continue
      if (this.#refused.has(entry.id)) continue
      assert.deepEqual(applyToModel(model, entry.change), entry.result, 'invariant 5: results follow from the order')
    }
    await this.#compare(model)
    this.#expected = model
    this.#transactions = []
    this.#runs.clear()
    this.#refused.clear()
    this.counts.recovered++
  }

  async #compare(model: ReadonlyMap<string, Value>): Promise<void> {
    const drive = this.drive!
    const found = drive.scan(recordKey(''), Buffer.from([tableByte + 1]), cursor => {
      const names: string[] = []
      while (cursor.next()) names.push(cursor.key.latin1Slice(1))
      return names
    })
    assert.deepEqual(found, [...model.keys()].sort(), 'invariant 2: exactly the committed records are there')
    let bytes = 0
    for (const [name, value] of model) {
      const record = drive.get(recordKey(name))!
      assert.deepEqual(JSON.parse(Buffer.from(record.value).toString()), value, 'invariant 2: with their values')
      bytes += record.value.length
      await this.#compareContent(drive, record, value)
    }
    assert.deepEqual(
      drive.counter(countKey),
      model.size === 0 ? [] : [model.size, bytes],
      'invariant 6: sums are exact',
    )
    const derived = drive.scanDerived(derivedKey(''), derivedKey('\xff'), cursor => {
      const names: string[] = []
      while (cursor.next()) names.push(cursor.key.latin1Slice(1))
      return names
    })
    assert.deepEqual(derived, [...model.keys()].sort(), 'invariant 6: derived entries follow the records')
    assert.equal(drive.compaction.segmentsDamaged, 0, this.complaints.join('\n'))
    let liveBytes = 0
    for (const [segment, use] of drive.state.segments) {
      assert.ok(use.liveBytes >= 0, `segment ${segment} has ${use.liveBytes} live bytes`)
      liveBytes += use.liveBytes
    }
    let bodyBytes = 0
    for (const value of model.values()) if (value.blob === undefined) bodyBytes += value.bodySize
    assert.ok(liveBytes >= bodyBytes, 'the live bytes of segments cover all bodies')
  }

  async #compareContent(drive: Drive, record: StoredRecord, value: Value): Promise<void> {
    const expected = contentOf(value.id, value.bodySize)
    if (value.blob === undefined) {
      const bytes = await this.#ticking(Promise.resolve(drive.readBody(record.body!)))
      assert.ok(bytes.equals(expected), 'invariant 4: a body is what was written')
      return
    }
    const reader = drive.readBlob(value.blob, 0, value.blob.size)
    const chunks: Buffer[] = []
    for (;;) {
      const chunk = await this.#ticking(reader.next())
      if (chunk === undefined) break
      chunks.push(Buffer.from(chunk.bytes))
      chunk.release()
    }
    reader.close()
    assert.ok(Buffer.concat(chunks).equals(expected), 'invariant 4: a blob is what was written')
  }

  #ticking<T>(promise: Promise<T>): Promise<T> {
    return this.#time.until(promise, 'work of the drive')
  }

  /** The background work of about one second. */
  housekeep(): void {
    this.drive?.prepareJournal()
  }

  /** Other software fills the disk, or frees the space. */
  squeeze(isFull: boolean): void {
    if (isFull) this.disk.capacityBytes = this.disk.usedBytes()
    else this.disk.capacityBytes = this.#capacityBytes
    this.index.failureRate = isFull ? 0.9 : 0
  }

  async flush(): Promise<void> {
    for (const untilMs = this.#time.nowMs + 60_000; ; await this.tick()) {
      try {
        return await this.#ticking(this.drive!.checkpoints.flush())
      } catch (error) {
        // It may have failed until a moment ago, and is retried every second.
        if (this.#time.nowMs > untilMs) throw error
      }
    }
  }

  async compact(): Promise<void> {
    const life = this.#life
    const before = this.drive!.compaction.segmentsRemoved
    try {
      const { compaction } = this.drive!
      await compaction.work(AbortSignal.timeout(60_000))
      for (const until = this.#time.nowMs + 25; life === this.#life && this.#time.nowMs < until; ) await turn()
      if (life !== this.#life) return
      await compaction.work(AbortSignal.timeout(60_000))
    } catch (error) {
      if (life !== this.#life) return
      const { code } = error as { code?: string }
      assert.match(code ?? '', /^(full|faulty|unavailable|EIO|EBADF|ENOSPC)$/, String((error as Error).stack))
    }
    if (this.drive !== undefined) assert.equal(this.drive.compaction.segmentsDamaged, 0, this.complaints.join('\n'))
    this.counts.compacted += (this.drive?.compaction.segmentsRemoved ?? before) - before
  }

  /** All of the index except for the position and removed segments, for comparison with a rebuilt index. */
  dump(): Record<string, string[]> {
    const { segments } = this.drive!.journal
    const isComparable = (line: string) => {
      if (line.startsWith('position')) return false
      return line[0] !== 's' || segments.has(Number(line.slice(1, 11)))
    }
    return {
      records: this.index.dump('records'),
      derived: this.index.dump('derived'),
      counters: this.index.dump('counters'),
      internal: this.index.dump('internal').filter(isComparable),
    }
  }
}
