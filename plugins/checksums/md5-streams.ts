/**
 * MD5 of streams of this thread, several at a time where several run (md5-lanes.ts). A stream that is alone is left to `node:crypto`.
 *
 * A socket gives a lot at once, so streams do not fill their slots together by themselves: one that has enough, or that ends, waits for
 * the next turn of the event loop, and the others have theirs until then. So does the first one of them: a whole body of a megabyte can
 * be read from one socket before the next one gets its turn. Only a stream that is alone after that wait is left to `node:crypto`.
 */
import { createHash, type Hash } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type { StreamChecksum } from './api.ts'
import { Md5Lanes, type Slot, waiting } from './md5-lanes.ts'
import { paddingOf } from './md5-module.ts'

/** A stream with so much in its slot waits until it is computed. */
const enoughBytes = 262_144

export interface Md5Streams {
  create(): StreamChecksum
}

export function createMd5Streams(): Md5Streams {
  let lanes: Md5Lanes | undefined
  return {
    create() {
      lanes ??= new Md5Lanes()
      return new Md5Stream(lanes)
    },
  }
}

class Md5Stream implements StreamChecksum {
  readonly #lanes: Md5Lanes
  #slot: Slot | undefined
  /** Instead of the slot. */
  #hash: Hash | undefined
  #sizeBytes = 0

  constructor(lanes: Md5Lanes) {
    this.#lanes = lanes
    this.#slot = lanes.take()
    if (this.#slot === undefined) this.#hash = createHash('md5')
  }

  update(bytes: Uint8Array): MaybePromise<void> {
    this.#sizeBytes += bytes.length
    for (let at = 0; at < bytes.length; ) {
      const slot = this.#slot
      if (slot === undefined) {
        this.#require().update(at === 0 ? bytes : bytes.subarray(at))
        return
      }
      at += this.#lanes.fill(slot, bytes, at)
      if (waiting(slot) < enoughBytes) return
      if (at === bytes.length) return this.#lanes.compute(slot).then(() => this.#leaveIfAlone(slot))
      if (this.#lanes.isAlone(slot)) this.#leave(slot)
      else this.#lanes.computeNow(slot)
    }
  }

  #leaveIfAlone(slot: Slot): void {
    if (this.#slot === slot && this.#lanes.isAlone(slot)) this.#leave(slot)
  }

  /** It stays with `node:crypto` to its end. */
  #leave(slot: Slot): void {
    this.#hash = createHash('md5').update(this.#lanes.view(slot))
    this.release()
  }

  async digest(): Promise<Buffer> {
    return this.#slot === undefined ? this.#require().digest() : this.#finish(this.#slot)
  }

  async #finish(slot: Slot): Promise<Buffer> {
    try {
      const padding = paddingOf(this.#sizeBytes)
      // There is room: `update` leaves more than that.
      this.#lanes.fill(slot, padding, 0)
      await this.#lanes.compute(slot)
      if (this.#slot !== slot) throw new Error('the digest was given up')
      if (!slot.hasBegun) {
        const view = this.#lanes.view(slot)
        return createHash('md5')
          .update(view.subarray(0, view.length - padding.length))
          .digest()
      }
      // It may have been alone for its last bytes.
      this.#lanes.computeNow(slot)
      return this.#lanes.digest(slot)
    } finally {
      this.release()
    }
  }

  release(): void {
    if (this.#slot !== undefined) this.#lanes.release(this.#slot)
    this.#slot = undefined
  }

  #require(): Hash {
    if (this.#hash === undefined) throw new Error('the digest has been taken already')
    return this.#hash
  }
}
