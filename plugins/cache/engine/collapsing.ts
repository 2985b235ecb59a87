/** Lets one piece of work run per id at a time. Callers that come meanwhile wait for it, at most 5 s. */
import type { Clock } from 'svc/kernel'
import { Sieve } from '../memory/sieve.ts'

const waitMsMax = 5000
/** How long reads of a key do not wait for each other, after an answer of the key could not be shared. */
const unsharedMs = 120_000
const unsharedMax = 4096

export interface Collapsing {
  running(id: string): Promise<void> | undefined
  /** Registers work under an id, if none is running there. When it has ended, however it ended, waiting callers look up what is stored. */
  run(id: string, work: Promise<unknown>): void
  /** Resolves when the work has ended, or after 5 s. */
  wait(work: Promise<void>): Promise<void>
  isUnshared(id: string): boolean
  markUnshared(id: string): void
  markShared(id: string): void
}

export function createCollapsing(clock: Clock): Collapsing {
  const works = new Map<string, Promise<void>>()
  const unshared = new Sieve<number>({ budgetBytes: unsharedMax })
  return {
    running: id => works.get(id),
    run(id, work) {
      if (works.has(id)) return
      // A rejection goes to the caller that began the work; waiting callers then do the work themselves.
      const ended = work.then(
        () => undefined,
        () => undefined,
      )
      works.set(id, ended)
      void ended.then(() => works.delete(id))
    },
    async wait(work) {
      let cancel: (() => void) | undefined
      const limit = new Promise<void>(resolve => {
        cancel = clock.after(waitMsMax, resolve)
      })
      await Promise.race([work, limit])
      cancel?.()
    },
    isUnshared(id) {
      const untilMs = unshared.get(id)
      return untilMs !== undefined && untilMs > clock.now()
    },
    markUnshared: id => void unshared.set(id, clock.now() + unsharedMs, 1),
    markShared: id => void unshared.delete(id),
  }
}
