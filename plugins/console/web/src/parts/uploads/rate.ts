/** Bytes a second, over the last seconds. */

const shortestMs = 1000
/** Whoever has not asked for so long begins anew. */
const longestMs = 60_000

export class Rate {
  #from = { timeMs: 0, bytes: 0 }
  #rate = 0

  /** The rate at which `bytes` grows from call to call. */
  of(bytes: number): number {
    const timeMs = Date.now()
    const elapsedMs = timeMs - this.#from.timeMs
    if (elapsedMs < shortestMs) return this.#rate
    this.#rate = elapsedMs > longestMs ? 0 : Math.max(0, ((bytes - this.#from.bytes) / elapsedMs) * 1000)
    this.#from = { timeMs, bytes }
    return this.#rate
  }
}
