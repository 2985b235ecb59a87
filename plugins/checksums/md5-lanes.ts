/**
 * MD5 of several streams at a time, in WebAssembly: md5-lanes.wat.mjs says how. Four streams together cost less than half of the time
 * that `node:crypto` takes for them, eight a quarter. One instance for each thread; bytes of a stream wait in a slot of the memory.
 */
import { blockBytes, lanesMax, Md5Module, stateBytes } from './md5-module.ts'

/** More streams at a time are left to `node:crypto`. */
export const slotsMax = 32
const slotBytes = 524_288
/** Slots do not begin at the same place of a page: lanes that run side by side would meet in the same lines of a cache (run8 2.0 and 2.4 GB/s). */
const slotStrideBytes = slotBytes + 17 * 64
/** Others that have less than this part of what the slowest has are not taken along: they would make a short run. */
const shareMin = 8

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
  readonly #module = new Md5Module(slotsMax, slotsMax * slotStrideBytes)
  readonly #bytes = this.#module.bytes
  readonly #free: Slot[]
  /** Streams that are open. */
  readonly taken = new Set<Slot>()
  /** Digests to compute in the next turn, each with its waiting caller. */
  readonly #due = new Map<Slot, () => void>()
  #isScheduled = false

  constructor() {
    const { statesAt, slotsAt } = this.#module
    this.#free = Array.from({ length: slotsMax }, (_, index) => ({
      stateAt: statesAt + index * stateBytes,
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
    this.#module.begin(slot.stateAt)
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
    for (const [lane, { stateAt, at, from }] of slots.entries()) this.#module.place(lane, stateAt, at + from)
    this.#module.run(slots.length, blocks)
    for (const slot of slots) {
      slot.from += blocks * blockBytes
      slot.hasBegun = true
    }
  }

  digest(slot: Slot): Buffer {
    return this.#module.digest(slot.stateAt)
  }
}
