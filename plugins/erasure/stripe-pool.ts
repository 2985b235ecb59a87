/** Memory for stripes that are being filled: so many at once, and who finds none waits for its turn. */
import type { MaybePromise } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import { StripeBuffer } from './codec/stripe-buffer.ts'

export class StripePool {
  readonly #code: ErasureCode
  readonly #unitBytes: number
  readonly #free: StripeBuffer[] = []
  readonly #waiting: ((stripe: StripeBuffer) => void)[] = []

  constructor(code: ErasureCode, unitBytes: number) {
    this.#code = code
    this.#unitBytes = unitBytes
  }

  lend(): MaybePromise<StripeBuffer> {
    const stripe = this.#free.pop() ?? StripeBuffer.create(this.#code, this.#unitBytes)
    if (stripe !== undefined) return stripe
    return new Promise(resolve => {
      this.#waiting.push(resolve)
    })
  }

  takeBack(stripe: StripeBuffer): void {
    stripe.clear()
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(stripe)
    else next(stripe)
  }
}
