/** What procedures work with. Every change goes in at once and is noted, so that a throw can take all of them back. */
import type {
  BodyRef,
  Derive,
  DerivedWriter,
  PutOptions,
  RecordKey,
  StoredRecord,
  Transaction,
} from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { type OrderedMap, textOf } from './ordered-map.ts'

export const inlineBytesMax = 128 * 1024
const keyBytesMax = 3900

export interface MemoryRecord extends StoredRecord {
  readonly value: Buffer
  readonly blobs: readonly string[]
}

/** Everything that the backend holds. */
export interface MemoryTables {
  readonly records: OrderedMap<MemoryRecord>
  readonly derived: OrderedMap<Buffer>
  readonly counters: Map<string, readonly number[]>
  /** Bodies by number: a body is found by its `BodyRef.offset`. */
  readonly bodies: Map<number, Buffer>
  readonly lastBody: { number: number }
  /** How many records reference a blob. */
  readonly blobUses: Map<string, number>
}

export class MemoryTransaction implements Transaction {
  readonly sequence: number
  readonly nowMs: number
  readonly #tables: MemoryTables
  readonly #derive: Derive
  readonly #undo: (() => void)[] = []
  readonly #taken: { readonly from: string; readonly body: BodyRef }[] = []
  /** Bodies whose records were replaced or deleted; those that another record took over stay. */
  readonly dropped = new Set<BodyRef>()
  /** Blobs that lost a reference. */
  readonly released = new Set<string>()

  constructor(tables: MemoryTables, derive: Derive, sequence: number, nowMs: number) {
    this.#tables = tables
    this.#derive = derive
    this.sequence = sequence
    this.nowMs = nowMs
  }

  get(key: RecordKey): MemoryRecord | undefined {
    return this.#tables.records.get(textOf(key))
  }

  first(start: RecordKey, end: RecordKey) {
    const { records } = this.#tables
    const text = records.keys()[records.lowerBound(textOf(start))]
    if (text === undefined || text >= textOf(end)) return undefined
    return { key: Buffer.from(text, 'latin1'), record: records.get(text)! }
  }

  counter(key: RecordKey): readonly number[] {
    return this.#tables.counters.get(textOf(key)) ?? []
  }

  put(key: RecordKey, value: Uint8Array, options: PutOptions = {}): void {
    if (key.length === 0 || key.length > keyBytesMax) throw new RangeError(`A key has 1 to ${keyBytesMax} bytes.`)
    const text = textOf(key)
    const body = options.body === undefined ? this.#takeBody(text, options.bodyOf) : this.#storeBody(options.body)
    // The caller may use its buffer again.
    this.#replace(text, { value: Buffer.from(value), body, blobs: options.blobs ?? [] })
  }

  delete(key: RecordKey): void {
    this.#replace(textOf(key), undefined)
  }

  #storeBody(bytes: Uint8Array): BodyRef {
    if (bytes.length > inlineBytesMax) throw storageErrors.body_too_large()
    const { bodies } = this.#tables
    const offset = ++this.#tables.lastBody.number
    bodies.set(offset, Buffer.from(bytes))
    this.#undo.push(() => bodies.delete(offset))
    return { segment: 0, offset, size: bytes.length, check: 0 }
  }

  #takeBody(to: string, from: RecordKey | undefined): BodyRef | undefined {
    if (from === undefined) return undefined
    const record = this.get(from)
    if (record === undefined) throw new Error('bodyOf names a record that does not exist')
    if (record.body !== undefined && textOf(from) !== to) this.#taken.push({ from: textOf(from), body: record.body })
    return record.body
  }

  /** One record's change, with what follows from it: counters, derived entries, references to blobs. */
  #replace(text: string, after: MemoryRecord | undefined): void {
    const before = this.#tables.records.get(text)
    if (before === undefined && after === undefined) return
    if (before?.body !== undefined) this.dropped.add(before.body)
    if (after?.body !== undefined) this.dropped.delete(after.body)
    this.#undo.push(this.#tables.records.set(text, after))
    for (const id of before?.blobs ?? []) this.#countBlob(id, -1)
    for (const id of after?.blobs ?? []) this.#countBlob(id, 1)
    this.#derive(Buffer.from(text, 'latin1'), before?.value, after?.value, this.#emit)
  }

  #countBlob(id: string, delta: number): void {
    const { blobUses } = this.#tables
    const before = blobUses.get(id) ?? 0
    blobUses.set(id, before + delta)
    if (delta < 0) this.released.add(id)
    this.#undo.push(() => blobUses.set(id, before))
  }

  readonly #emit: DerivedWriter = {
    add: (counter, deltas) => {
      const { counters } = this.#tables
      const text = textOf(counter)
      const before = counters.get(text)
      const length = Math.max(before?.length ?? 0, deltas.length)
      const sums = Array.from({ length }, (_, i) => (before?.[i] ?? 0) + (deltas[i] ?? 0))
      // A counter whose sums are all zero is the same as none.
      if (sums.every(sum => sum === 0)) counters.delete(text)
      else counters.set(text, sums)
      this.#undo.push(() => {
        if (before === undefined) counters.delete(text)
        else counters.set(text, before)
      })
    },
    put: (key, value) => {
      this.#undo.push(this.#tables.derived.set(textOf(key), Buffer.from(value)))
    },
    delete: key => {
      this.#undo.push(this.#tables.derived.set(textOf(key), undefined))
    },
  }

  /** Leaves in `dropped` what nothing needs any more. Throws when a body would belong to two records. */
  finish(): void {
    for (const { from, body } of this.#taken) {
      if (this.#tables.records.get(from)?.body === body)
        throw new Error('a body was taken over, but is still in its place')
    }
    for (const { body } of this.#taken) this.dropped.delete(body)
  }

  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo()
  }
}
