/**
 * Protects callers from a slow or failing tier. A look-up that rejects or takes 50 ms is a miss. After 5 failures in a row the tier is not called
 * for 10 s. It is not called either while 64 late look-ups or 1000 calls with deletes are unanswered: hanging calls would fill the memory, and an
 * overloaded tier would get more work. A late answer is a failure only if the tier is to blame for it (`lateness.ts`).
 */
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import type { CacheTier, FoundRecord, TierRecord, TierUsage } from '../api.ts'
import { answerMsMax, createLateness, type Watched } from './lateness.ts'

const failuresMax = 5
export const pauseMs = 10_000
/** Most late look-ups without an answer. */
const lateMax = 64
/** Most late look-ups and deletes without an answer. Puts are not counted: `tiers.ts` bounds their bytes. */
const unansweredMax = 1000

export interface GuardedTier {
  /** Name of the tier's kind. */
  readonly name: string
  readonly budgetBytes: number
  readonly isPaused: boolean
  get(id: Buffer): MaybePromise<FoundRecord | undefined>
  hasAll(ids: readonly Buffer[]): MaybePromise<boolean>
  /** Resolves with whether the tier took the record: false also after a failure, or while the tier is paused. Never rejects. */
  put(id: Buffer, record: TierRecord): MaybePromise<boolean>
  delete(id: Buffer): MaybePromise<void>
  heads: CacheTier['heads']
  usage(): TierUsage
  start(): Promise<void>
  stop(): Promise<void>
}

export interface GuardedTierOptions {
  readonly name: string
  readonly tier: CacheTier
  readonly budgetBytes: number
  readonly clock: Clock
  readonly log: Logger
  /** Called at each failure. */
  readonly onFailure: () => void
  /** Makes a trip through the thread pool, without I/O. */
  readonly witness?: () => Promise<unknown>
  /** Milliseconds of processor that the threads of this process have used or waited for. */
  readonly wantedMs?: () => number
}

/** `look-up`: a miss after 50 ms. `question`: the same, but the tier is blamed only after 5 s. `none`: no time limit. */
type Wait = 'look-up' | 'question' | 'none'

export function guardTier({
  name,
  tier,
  budgetBytes,
  clock,
  log,
  onFailure,
  witness,
  wantedMs,
}: GuardedTierOptions): GuardedTier {
  const lateness = createLateness(clock, witness, wantedMs)
  let failures = 0
  let pausedUntilNs = 0n
  let late = 0
  let unanswered = 0
  const isPaused = () => pausedUntilNs > clock.monotonicNs() || late >= lateMax || unanswered >= unansweredMax

  function countUntilAnswered(running: Promise<unknown>): void {
    unanswered++
    const answered = () => void unanswered--
    running.then(answered, answered)
  }

  function failed(error: unknown): void {
    onFailure()
    if (++failures < failuresMax) return
    failures = 0
    pausedUntilNs = clock.monotonicNs() + BigInt(pauseMs) * 1_000_000n
    log.warn(
      { err: error, tier: name },
      `a tier of the cache has failed ${failuresMax} times: it is left alone for 10 s`,
    )
  }

  /** The result of `work`; `otherwise` if the tier is paused, fails or is late. */
  function guarded<T>(work: () => MaybePromise<T>, otherwise: T, wait: Wait): MaybePromise<T> {
    if (isPaused()) return otherwise
    let running: MaybePromise<T>
    try {
      running = work()
    } catch (error) {
      failed(error)
      return otherwise
    }
    if (running instanceof Promise)
      return wait === 'none' ? settled(running, otherwise) : inTime(running, otherwise, wait)
    if (wait !== 'none') failures = 0
    return running
  }

  /** A success does not reset the count of failures: a tier that takes records may still not answer look-ups. */
  async function settled<T>(running: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await running
    } catch (error) {
      failed(error)
      return otherwise
    }
  }

  function inTime<T>(running: Promise<T>, otherwise: T, wait: Wait): Promise<T> {
    return new Promise(answer => {
      let isLate = false
      let isBlamed = false
      const watched: Watched = {
        isPatient: wait === 'question',
        onLate() {
          isLate = true
          late++
          countUntilAnswered(running)
          answer(otherwise)
        },
        onBlame() {
          isBlamed = true
          failed(new Error(`no answer within ${answerMsMax} ms`))
        },
      }
      const end = lateness.watch(watched)
      running.then(
        found => {
          end()
          if (!isLate) failures = 0
          else {
            late--
            // Nobody reads it any more.
            if (wait === 'look-up') (found as FoundRecord | undefined)?.release?.()
          }
          answer(found)
        },
        error => {
          end()
          if (isLate) late--
          if (!isBlamed) failed(error)
          answer(otherwise)
        },
      )
    })
  }

  return {
    name,
    budgetBytes,
    get isPaused() {
      return isPaused()
    },
    get: id => guarded(() => tier.get(id), undefined, 'look-up'),
    hasAll: ids => guarded(() => tier.hasAll(ids), false, 'question'),
    // No request waits for puts and deletes.
    put: (id, record) => guarded<boolean>(() => tier.put(id, record), false, 'none'),
    delete: id =>
      guarded<void>(
        () => {
          const running = tier.delete(id)
          if (running instanceof Promise) countUntilAnswered(running)
          return running
        },
        undefined,
        'none',
      ),
    heads: (after, limit) =>
      guarded<Awaited<ReturnType<CacheTier['heads']>>>(() => tier.heads(after, limit), [], 'none'),
    usage: () => tier.usage(),
    start: () => tier.start(),
    stop: () => tier.stop(),
  }
}
