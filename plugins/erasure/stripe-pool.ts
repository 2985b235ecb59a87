/** Pool of memory for stripes that are being filled, for each thread. Callers wait when it is used up. */
import type { MaybePromise } from 'svc/kernel'
import type { ErasureCode } from './codec/erasure-code.ts'
import { StripeBuffer } from './codec/stripe-buffer.ts'

export class StripePool {
  readonly #unitBytes: number
  readonly #free: StripeBuffer[] = []
  readonly #waiting: ((stripe: StripeBuffer) => void)[] = []

  constructor(unitBytes: number) {
    this.#unitBytes = unitBytes
  }

  /** All codes that are passed must have the same number of shards, and the same memory. */
  acquire(code: ErasureCode): MaybePromise<StripeBuffer> {
    const stripe = this.#free.pop() ?? StripeBuffer.create(code, this.#unitBytes)
    if (stripe !== undefined) {
      stripe.use(code)
      return stripe
    }
    return new Promise(resolve => {
      this.#waiting.push(stripe => {
        stripe.use(code)
        resolve(stripe)
      })
    })
  }

  release(stripe: StripeBuffer): void {
    stripe.clear()
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(stripe)
    else next(stripe)
  }
}
