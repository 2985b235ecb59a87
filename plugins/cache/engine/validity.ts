/** Whether a stored answer may still be used: nobody has purged it, and its objects are what they were. */
import type { MaybePromise } from 'svc/kernel'
import type { CacheRequest } from '../api.ts'
import type { Visit } from './lookups.ts'
import type { Holds } from './storing.ts'
import type { Variant } from './variant.ts'

export interface Purges {
  /** The number of the last purge that is known. */
  readonly sequence: number
  /** Resolves when every acknowledged purge is known. */
  current(): MaybePromise<void>
  /** Of an answer to this request. A soft purge lets it expire instead. */
  isDead(request: CacheRequest, variant: Variant): boolean
}

const noPurges: Purges = { sequence: 0, current: () => undefined, isDead: () => false }

export class Validity {
  readonly #holds: Holds
  readonly purges: Purges

  constructor(holds: Holds = () => true, purges = noPurges) {
    this.#holds = holds
    this.purges = purges
  }

  isPurged(request: CacheRequest, variant: Variant): boolean {
    return variant.purgeSequence < this.purges.sequence && this.purges.isDead(request, variant)
  }

  /** Whether the origin would say the same now, as far as fences tell. */
  isCurrent({ request }: Visit, { record }: Variant): boolean {
    return record === undefined || !request.policy.autoInvalidate || this.#holds(record.fences)
  }

  /** The fences of an object hold: to read it again would find the same. */
  isUntouched({ request, asked }: Visit, { record }: Variant): boolean {
    return (
      record !== undefined && record.fences.length > 0 && request.policy.autoInvalidate && asked.maxAge === undefined
    )
  }
}
