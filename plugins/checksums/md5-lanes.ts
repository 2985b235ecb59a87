/**
 * MD5 of several streams at a time, in WebAssembly: md5-lanes.wat.mjs says how. Four streams together cost less than half of the time
 * that `node:crypto` takes for them, eight a quarter. One instance for each thread; bytes of a stream wait in a slot of the memory.
 */
import { readFileSync } from 'node:fs'

/** More streams at a time are left to `node:crypto`. */
export const slotsMax = 32
const slotBytes = 524_288
/** Slots do not begin at the same place of a page: lanes that run side by side would meet in the same lines of a cache (run8 2.0 and 2.4 GB/s). */
const slotStrideBytes = slotBytes + 17 * 64
const blockBytes = 64
const stateBytes = 16
const digestBytes = 16
const lanesMax = 8
const initial = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]
/** Others that have less than this part of what the slowest has are not taken along: they would make a short run. */
const shareMin = 8

interface Instance {
  readonly memory: WebAssembly.Memory
  /** Where the states and slots begin. */
  readonly freeAt: { readonly value: number }
  run1(blocks: number): void
  run4(blocks: number): void
  run8(blocks: number): void
}

/** Bytes that wait, from `from` to `to` in the slot. */
export interface Slot {
  readonly stateAt: number
  readonly at: number
  from: number
  to: number
  /** Blocks of it were computed: its digest is in the state. */
  hasBegun: boolean
}

export const waiting = ({ from, to }: Slot): number => to - from
const wholeBlocks = (slot: Slot): number => Math.floor(waiting(slot) / blockBytes)

/** The memory of the module, and the streams that are in it. */
export class Md5Lanes {
  readonly #instance: Instance
  readonly #bytes: Buffer
  readonly #words: Uint32Array
  readonly #free: Slot[]
  /** Streams that are open. */
  readonly taken = new Set<Slot>()
  /** Digests to compute in the next turn, each with its waiting caller. */
  readonly #due = new Map<Slot, () => void>()
  #isScheduled = false

  constructor() {
    const module = new WebAssembly.Module(readFileSync(new URL('./md5-lanes.wasm', import.meta.url)))
    this.#instance = new WebAssembly.Instance(module).exports as unknown as Instance
    const { memory, freeAt } = this.#instance
    // One more state, for lanes without a stream.
    const slotsAt = Math.ceil((freeAt.value + (slotsMax + 1) * stateBytes) / blockBytes) * blockBytes
    // Takes addresses; the system gives memory when it is written to.
    memory.grow(Math.ceil((slotsAt + slotsMax * slotStrideBytes - memory.buffer.byteLength) / 65_536))
    this.#bytes = Buffer.from(memory.buffer)
    this.#words = new Uint32Array(memory.buffer)
    this.#free = Array.from({ length: slotsMax }, (_, index) => ({
      stateAt: freeAt.value + (index + 1) * stateBytes,
      at: slotsAt + index * slotStrideBytes,
      from: 0,
      to: 0,
      hasBegun: false,
    }))
  }

  take(): Slot | undefined {
    const slot = this.#free.pop()
    if (slot === undefined) return undefined
    slot.from = 0
    slot.to = 0
    slot.hasBegun = false
    this.#words.set(initial, slot.stateAt / 4)
    this.taken.add(slot)
    return slot
  }

  release(slot: Slot): void {
    if (!this.taken.delete(slot)) return
    this.#due.get(slot)?.()
    this.#due.delete(slot)
    this.#free.push(slot)
  }

  /** Takes as many bytes as there is room for; returns how many. */
  fill(slot: Slot, bytes: Uint8Array, start: number): number {
    if (slot.from === slot.to) {
      slot.from = 0
      slot.to = 0
    }
    if (slot.from > 0 && slotBytes - slot.to < bytes.length - start) {
      this.#bytes.copyWithin(slot.at, slot.at + slot.from, slot.at + slot.to)
      slot.to -= slot.from
      slot.from = 0
    }
    const count = Math.min(bytes.length - start, slotBytes - slot.to)
    this.#bytes.set(count === bytes.length ? bytes : bytes.subarray(start, start + count), slot.at + slot.to)
    slot.to += count
    return count
  }

  /** What waits in the slot; valid until the next call of anything. */
  view({ at, from, to }: Slot): Buffer {
    return this.#bytes.subarray(at + from, at + to)
  }

  /** Resolves when the whole blocks of the slot are computed, together with those of others. */
  compute(slot: Slot): Promise<void> {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#computeDue())
    }
    return new Promise(resolve => this.#due.set(slot, resolve))
  }

  /** A stream that nobody has begun to compute, and that nobody else could be computed with. */
  isAlone({ hasBegun }: Slot): boolean {
    return !hasBegun && this.taken.size === 1
  }

  #computeDue(): void {
    this.#isScheduled = false
    // A stream that is alone takes its bytes to `node:crypto` when it goes on.
    for (const slot of this.#due.keys()) if (!this.isAlone(slot)) this.computeNow(slot)
    const due = [...this.#due.values()]
    this.#due.clear()
    for (const resolve of due) resolve()
  }

  /** Computes all whole blocks of the slot, and some of the others with them. */
  computeNow(slot: Slot): void {
    for (let blocks = wholeBlocks(slot); blocks > 0; blocks = wholeBlocks(slot)) {
      const others = [...this.taken]
        .filter(other => other !== slot && wholeBlocks(other) * shareMin >= blocks)
        .sort((a, b) => waiting(b) - waiting(a))
      const chosen = [slot, ...others.slice(0, lanesMax - 1)]
      this.#runTogether(chosen, Math.min(...chosen.map(wholeBlocks)))
    }
  }

  #runTogether(slots: readonly Slot[], blocks: number): void {
    const laneCount = slots.length === 1 ? 1 : slots.length <= 4 ? 4 : lanesMax
    for (let lane = 0; lane < laneCount; lane++) {
      const slot = slots[lane]
      this.#words[2 * lane] = slot?.stateAt ?? this.#instance.freeAt.value
      this.#words[2 * lane + 1] = (slot ?? slots[0]!).at + (slot ?? slots[0]!).from
    }
    if (laneCount === 1) this.#instance.run1(blocks)
    else if (laneCount === 4) this.#instance.run4(blocks)
    else this.#instance.run8(blocks)
    for (const slot of slots) {
      slot.from += blocks * blockBytes
      slot.hasBegun = true
    }
  }

  digest(slot: Slot): Buffer {
    return Buffer.from(this.#bytes.subarray(slot.stateAt, slot.stateAt + digestBytes))
  }
}

/** What RFC 1321 appends: a bit, zeros up to a whole block less eight bytes, and the length in bits. */
export function paddingOf(sizeBytes: number): Buffer {
  const rest = sizeBytes % blockBytes
  const padding = Buffer.alloc((rest < blockBytes - 8 ? blockBytes : 2 * blockBytes) - rest)
  padding[0] = 0x80
  padding.writeBigUInt64LE(BigInt(sizeBytes) * 8n, padding.length - 8)
  return padding
}
