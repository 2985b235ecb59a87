/** Ordered walks over the memtable: over the change sets in this thread, or over entries that another thread has packed. */
import { asBuffer, keyBytes, keyText } from './bytes.ts'
import type { ChangeSet } from './changes.ts'
import { lowerBound, type OrderedMap } from './ordered-map.ts'

/** Stands on an entry of its range, or behind the last one. The change sets must not change meanwhile. */
export interface MemtableWalk {
  /** Undefined behind the last entry. */
  readonly key: Buffer | undefined
  /** Null for a deleted entry. */
  readonly value: Uint8Array | null
  next(): void
  /** Goes to the first entry that is not below this key. */
  seek(from: Buffer): void
}

/** Of these layers, given from oldest to newest. */
export function walkLayers(
  table: 'records' | 'derived',
  layers: readonly (ChangeSet | undefined)[],
  start: Uint8Array,
  end: Uint8Array,
): MemtableWalk {
  const maps: OrderedMap<Uint8Array | null>[] = []
  for (const layer of layers) if (layer !== undefined && layer[table].size > 0) maps.push(layer[table])
  return maps.length === 0 ? nothing : new LayersWalk(maps, keyText(start), keyText(end))
}

const nothing: MemtableWalk = { key: undefined, value: null, next: () => undefined, seek: () => undefined }

/** Ascending keys of one layer. */
interface Run {
  readonly map: OrderedMap<Uint8Array | null>
  readonly keys: readonly string[]
  readonly end: number
  at: number
}

class LayersWalk implements MemtableWalk {
  readonly #runs: Run[] = []
  readonly #start: string
  key: Buffer | undefined
  value: Uint8Array | null = null
  #text = ''

  constructor(maps: readonly OrderedMap<Uint8Array | null>[], start: string, end: string) {
    this.#start = start
    for (const map of maps) {
      for (const keys of map.orderedKeys()) {
        const at = lowerBound(keys, start)
        const run = { map, keys, at, end: lowerBound(keys, end) }
        if (at < run.end) this.#runs.push(run)
      }
    }
    this.#settle()
  }

  next(): void {
    for (const run of this.#runs) if (run.at < run.end && run.keys[run.at] === this.#text) run.at++
    this.#settle()
  }

  seek(from: Buffer): void {
    const text = keyText(from)
    const target = text < this.#start ? this.#start : text
    for (const run of this.#runs) run.at = Math.min(lowerBound(run.keys, target), run.end)
    this.#settle()
  }

  /** On the smallest of the next keys; of layers that have the same one, the newest counts, which is the last. */
  #settle(): void {
    let newest: Run | undefined
    let text = ''
    for (const run of this.#runs) {
      if (run.at === run.end) continue
      const next = run.keys[run.at]!
      if (newest === undefined || next <= text) {
        newest = run
        text = next
      }
    }
    this.#text = text
    this.key = newest === undefined ? undefined : keyBytes(text)
    this.value = newest?.map.get(text) ?? null
  }
}

/** Entries back to back: u16 key size, u32 value size or `deletedSize`, key, value. */
export type PackedEntries = Uint8Array

const packedHeadBytes = 6
const deletedSize = 0xffffffff

/** What is left of a walk, for another thread. */
export function packEntries(walk: MemtableWalk): PackedEntries {
  const entries: { readonly key: Buffer; readonly value: Uint8Array | null }[] = []
  let size = 0
  for (; walk.key !== undefined; walk.next()) {
    const { key, value } = walk
    entries.push({ key, value })
    size += packedHeadBytes + key.length + (value?.length ?? 0)
  }
  // Not from Buffer's pool, because it is sent to another thread.
  const packed = Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const { key, value } of entries) {
    packed.writeUInt16LE(key.length, at)
    packed.writeUInt32LE(value?.length ?? deletedSize, at + 2)
    at += packedHeadBytes
    packed.set(key, at)
    at += key.length
    if (value !== null) packed.set(value, at)
    at += value?.length ?? 0
  }
  return packed
}

export function walkPacked(bytes: PackedEntries): MemtableWalk {
  return new PackedWalk(asBuffer(bytes))
}

class PackedWalk implements MemtableWalk {
  readonly #packed: Buffer
  #nextAt = 0
  key: Buffer | undefined
  value: Uint8Array | null = null

  constructor(packed: Buffer) {
    this.#packed = packed
    this.next()
  }

  next(): void {
    const packed = this.#packed
    const at = this.#nextAt
    if (at === packed.length) {
      this.key = undefined
      this.value = null
      return
    }
    const keyEnd = at + packedHeadBytes + packed.readUInt16LE(at)
    const valueSize = packed.readUInt32LE(at + 2)
    this.key = packed.subarray(at + packedHeadBytes, keyEnd)
    this.#nextAt = valueSize === deletedSize ? keyEnd : keyEnd + valueSize
    this.value = valueSize === deletedSize ? null : packed.subarray(keyEnd, this.#nextAt)
  }

  /** Step by step, and once more from the beginning where it lies behind: cursors go ahead. */
  seek(from: Buffer): void {
    if (this.key === undefined || this.key.compare(from) > 0) {
      this.#nextAt = 0
      this.next()
    }
    while (this.key !== undefined && this.key.compare(from) < 0) this.next()
  }
}
