/**
 * MD5 of small bodies that are all there: those of one turn of the event loop together, in the lanes of md5-lanes.wat.mjs. Eight of 4 KiB
 * take a quarter of the time that `node:crypto` takes for them. One instance for each thread.
 */
import { hash } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import { blockBytes, lanesMax, Md5Module, paddingOf, stateBytes } from './md5-module.ts'

/** Larger bodies are left to `node:crypto`: few of them come in one turn. In bytes. */
export const batchedBytesMax = 65_536
/** As in md5-lanes.ts: slots do not begin at the same place of a page. */
const slotStrideBytes = batchedBytesMax + 19 * blockBytes

interface Due {
  readonly bytes: Uint8Array
  resolve(digest: Buffer): void
}

export class Md5Batch {
  #module: Md5Module | undefined
  #due: Due[] = []
  /** Bodies in this turn. */
  #count = 0
  /** In the last turn that had any, there were several: it is worth waiting for others. */
  #hasCompany = false

  /** The bytes must not change until it resolves. */
  digest(bytes: Uint8Array): MaybePromise<Buffer> {
    if (bytes.length > batchedBytesMax) return alone(bytes)
    if (++this.#count === 1) {
      setImmediate(this.#endTurn)
      if (!this.#hasCompany) return alone(bytes)
    }
    return new Promise(resolve => {
      this.#due.push({ bytes, resolve })
    })
  }

  readonly #endTurn = (): void => {
    this.#hasCompany = this.#count > 1
    this.#count = 0
    const due = this.#due
    this.#due = []
    // Those of like size together: lanes run as long as the shortest.
    due.sort((a, b) => b.bytes.length - a.bytes.length)
    for (let at = 0; at < due.length; at += lanesMax) this.#compute(due.slice(at, at + lanesMax))
  }

  /** Of at most `lanesMax`, longest first. */
  #compute(group: readonly Due[]): void {
    if (group.length === 1) {
      group[0]!.resolve(alone(group[0]!.bytes))
      return
    }
    this.#module ??= new Md5Module(lanesMax, lanesMax * slotStrideBytes)
    const module = this.#module
    const { statesAt, slotsAt } = module
    const blocks = group.map(({ bytes }, lane) => {
      const at = slotsAt + lane * slotStrideBytes
      const padding = paddingOf(bytes.length)
      module.bytes.set(bytes, at)
      module.bytes.set(padding, at + bytes.length)
      module.begin(statesAt + lane * stateBytes)
      return (bytes.length + padding.length) / blockBytes
    })
    // All run as long as the last one, which is the shortest, then all but that one, and so on.
    let done = 0
    for (let count = group.length; count > 0; count--) {
      const end = blocks[count - 1]!
      if (end > done) {
        for (let lane = 0; lane < count; lane++) {
          const at = slotsAt + lane * slotStrideBytes + done * blockBytes
          module.place(lane, statesAt + lane * stateBytes, at)
        }
        module.run(count, end - done)
        done = end
      }
      group[count - 1]!.resolve(module.digest(statesAt + (count - 1) * stateBytes))
    }
  }
}

function alone(bytes: Uint8Array): Buffer {
  return hash('md5', bytes, 'buffer')
}
