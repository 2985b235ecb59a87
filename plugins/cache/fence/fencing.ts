/**
 * Keeps the fences of all threads. The storage thread counts changes inside their commits, and after each commit runs a procedure without changes.
 * When that resolves, every earlier commit is durable or has failed, and the counted values are settled.
 */
import type { Logger, MaybePromise, Threads } from 'svc/kernel'
import type { ObjectEvent, ObjectObserver } from 'svc/plugins/objects/api'
import type { Procedure, StorageService, Transaction } from 'svc/plugins/storage/api'
import { Fences, fencesBytes } from './fences.ts'

const settleProcedure = 'cache.settle'
const attachMessage = 'cache.fences'

export interface FencingOptions {
  readonly storage: Pick<StorageService, 'execute'>
  readonly threads: Threads
  readonly log: Logger
  /** Called with changes of the buckets that it wants, inside their commits. */
  readonly relay: {
    wants(bucket: string): boolean
    tell(tx: Transaction, event: ObjectEvent): void
  }
}

export interface Fencing {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly observer: ObjectObserver
  /** The fences of this process. A worker must not use them before `start`. */
  fences(): Fences
  /**
   * Resolves when changes of the bucket are counted in every thread. Must be awaited before fences of the bucket are taken. If the storage takes no
   * commit, it resolves all the same, and fences of the bucket are not settled: its answers are read, and not cached.
   */
  arm(bucket: string): MaybePromise<void>
  start(): Promise<void>
  stop(): void
}

export function createFencing({ storage, threads, log, relay }: FencingOptions): Fencing {
  let fences = new Fences(new SharedArrayBuffer(fencesBytes))
  /** Slots that were touched since they were settled. Bounded by the number of slots. */
  const pending = new Set<number>()
  let isSettling = false
  let isOpen = true

  const settle = async (): Promise<void> => {
    try {
      while (isOpen && pending.size > 0) {
        const round = [...pending].map(slot => [slot, fences.generationOf(slot)] as const)
        pending.clear()
        try {
          await storage.execute(settleProcedure, undefined)
        } catch (error) {
          for (const [slot] of round) pending.add(slot)
          throw error
        }
        for (const [slot, generation] of round) fences.settle(slot, generation)
      }
    } catch (error) {
      // The drive has failed or is being closed: answers that are read from now on are not cached, which is slow but correct.
      if (isOpen) log.warn({ err: error }, 'changes of objects are not settled: their answers are not cached')
    } finally {
      isSettling = false
    }
  }

  const touch = (bucket: string, key: string): void => {
    pending.add(fences.touch(bucket, key))
    if (isSettling) return
    isSettling = true
    // Changes of one turn of the event loop are settled together.
    setImmediate(settle)
  }

  if (threads.isMain) threads.handle(attachMessage, () => fences.memory)

  return {
    procedures: { [settleProcedure]: () => undefined },
    observer: {
      wants: bucket => fences.isWatched(bucket) || relay.wants(bucket),
      observe(tx, event) {
        if (fences.isWatched(event.bucket)) touch(event.bucket, event.key)
        if (relay.wants(event.bucket)) relay.tell(tx, event)
      },
    },
    fences: () => fences,
    arm(bucket) {
      if (fences.isArmed(bucket)) return
      fences.watch(bucket)
      // Commits that began before the bucket was watched were not counted: fences wait for their end.
      return storage.execute(settleProcedure, undefined).then(
        () => fences.arm(bucket),
        (error: unknown) =>
          log.debug({ err: error, bucket }, 'the bucket is not cached: its changes cannot be counted'),
      )
    },
    async start() {
      if (!threads.isMain) fences = new Fences(await threads.call<SharedArrayBuffer>(0, attachMessage))
    },
    stop() {
      isOpen = false
    },
  }
}
