/**
 * Changes that are sent twice, and done once. A browser sends a request again by itself where the connection ends without an answer, which it
 * cannot tell from one that never arrived. With an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) the second gets the result of
 * the first, if the same thread of the server has it.
 */
import { createHash } from 'node:crypto'
import type { Clock, MaybePromise } from 'svc/kernel'
import type { AdminOperation } from './api.ts'
import { adminErrors } from './errors.ts'

/** Browsers repeat at once. Results may have secrets that are shown once, and are not kept for longer. */
const keptMs = 60_000
/** Beyond, the oldest is forgotten. */
const keptMax = 256

export interface Repeated {
  /** Whoever sends it: what somebody else has sent is another change. */
  readonly caller: string
  /** What is asked for. */
  readonly method: string
  readonly target: string
  /** On what is there. */
  readonly conditions: readonly (string | undefined)[]
  readonly body: unknown
  readonly key: string
}

export interface Repeats {
  /** Resolves with what `work` of the first of equal requests resolves with. One that failed has changed nothing: the next one works. */
  once<Result>(request: Repeated, work: () => MaybePromise<Result>): Promise<Result>
}

export function createRepeats(clock: Pick<Clock, 'after'>): Repeats {
  const kept = new Map<string, { readonly result: Promise<unknown>; forget(): void }>()
  return {
    async once<Result>(request: Repeated, work: () => MaybePromise<Result>): Promise<Result> {
      const { caller, method, target, conditions, body, key } = request
      const id = createHash('sha256')
        .update(JSON.stringify([caller, method, target, conditions, body, key]))
        .digest('base64')
      // Of several that have waited for one that failed the next one works, and the others wait for it.
      for (let first = kept.get(id); first !== undefined; first = kept.get(id)) {
        const settled = await first.result.then(
          value => ({ value: value as Result }),
          () => undefined,
        )
        if (settled !== undefined) return settled.value
      }
      const result = (async () => work())()
      let cancel = (): void => {}
      const entry = {
        result,
        forget() {
          cancel()
          if (kept.get(id) === entry) kept.delete(id)
        },
      }
      kept.set(id, entry)
      if (kept.size > keptMax) kept.values().next().value?.forget()
      result.then(() => {
        cancel = clock.after(keptMs, entry.forget)
      }, entry.forget)
      return result
    },
  }
}

/** Whether it is a change whose body has been read: one that is still arriving is another each time, and uploads have conditions of their own. */
export function isMadeOnce({ method, authorize, isSafe, bodyStream, bytes }: AdminOperation): boolean {
  return method !== 'GET' && authorize !== 'public' && isSafe !== true && bodyStream !== true && bytes === undefined
}

/** The `Idempotency-Key`; undefined: none was sent. Throws `invalid_argument`. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header)) return header
  throw adminErrors.invalid_argument('Idempotency-Key is 1 to 128 visible characters of ASCII.')
}
