/** Whether a stored answer may still be used: it was not purged, and its objects are unchanged. */
import type { MaybePromise } from 'svc/kernel'
import type { CacheRequest } from '../api.ts'
import type { Visit } from './lookups.ts'
import type { Holds } from './storing.ts'
import type { Variant } from './variant.ts'

export interface Purges {
  /** Number of the last known purge. */
  readonly sequence: number
  /** Resolves when every acknowledged purge is known. */
  current(): MaybePromise<void>
  /** Whether a purge has killed the answer, for this request. A soft purge lets it expire instead. */
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

  /** False if fences show that the origin may have another answer. Always true without a record, or if `autoInvalidate` is off. */
  isCurrent({ request }: Visit, { record }: Variant): boolean {
    return record === undefined || !request.policy.autoInvalidate || this.#holds(record.fences)
  }

  /** Whether the answer has fences that count for this request: if they hold (`isCurrent`), reading it again would find the same. */
  isUntouched({ request, asked }: Visit, { record }: Variant): boolean {
    return (
      record !== undefined && record.fences.length > 0 && request.policy.autoInvalidate && asked.maxAge === undefined
    )
  }
}
