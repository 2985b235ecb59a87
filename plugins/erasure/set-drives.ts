/** What both kinds of threads make in the same way. */
import type { MaybePromise, Threads } from 'svc/kernel'
import type { DriveOptions, DrivesService } from 'svc/plugins/drive/api'
import type { Redundancy, StorageBackendOptions } from 'svc/plugins/storage/api'
import type { AnswerWatch } from './answer-watch.ts'
import { SetBlobWriter } from './blob-writing.ts'
import { boundedDisk } from './bounded-disk.ts'
import { ShardMemory } from './codec/shard-memory.ts'
import type { KnownBlob } from './set-transaction.ts'
import type { SetView } from './set-view.ts'
import type { StripePool } from './stripe-pool.ts'
import { WatchedDrive } from './watched-drive.ts'

/** Memory in which stripes are filled and encoded, in each thread. */
const stripeMemoryBytes = 48 * 1024 * 1024

/** What a set is made with in each thread. */
export interface SetContext extends StorageBackendOptions {
  readonly drives: DrivesService
  /** Parity of what is kept with reduced redundancy; never more than that of the set. */
  readonly reducedParityCount: number
  /** Of several sets: unique among them, the same in each thread. */
  readonly name?: string
  /** Among how many drives the memory of the configuration is divided. Default: those of this set. */
  readonly shareOf?: number
  /** Among how many sets the memory for stripes is divided. Default 1. */
  readonly setCount?: number
}

/** What remains where many sets share it: a few stripes of the widest set. */
const stripeMemoryBytesMin = 6 * 1024 * 1024

export function createStripeMemory({ setCount = 1 }: SetContext): ShardMemory {
  return new ShardMemory(Math.max(stripeMemoryBytesMin, Math.floor(stripeMemoryBytes / setCount)))
}

/** The calls among threads as one set of several sees them: every name begins with that of the set. */
export function threadsOf({ threads, name }: Pick<SetContext, 'threads' | 'name'>): Threads {
  if (name === undefined) return threads
  const prefix = `${name}.`
  return {
    index: threads.index,
    workerCount: threads.workerCount,
    isMain: threads.isMain,
    isFront: threads.isFront,
    handle: (message, handler) => threads.handle(prefix + message, handler),
    call: (target, message, payload, transfer) => threads.call(target, prefix + message, payload, transfer),
    callOthers: (message, payload) => threads.callOthers(prefix + message, payload),
    post: (target, message, payload, transfer) => threads.post(target, prefix + message, payload, transfer),
    onExit: listener => threads.onExit(listener),
  }
}

/** One drive of the set, in each thread with the same name. */
export function createDrive(
  { drives, procedures, derive, threads, ports, log, endpoints, name, shareOf }: SetContext,
  index: number,
  watch: AnswerWatch,
  own: Pick<DriveOptions, 'deploymentId' | 'garbage'> = {},
): WatchedDrive {
  const drive = drives.create({
    path: endpoints[index]!,
    name: name === undefined ? `set-${index}` : `${name}-${index}`,
    procedures,
    derive,
    threads,
    ports: { ...ports, disk: boundedDisk(ports.disk, threads) },
    log,
    ...own,
    shareOf: shareOf ?? endpoints.length,
  })
  return new WatchedDrive(drive, watch)
}

export function createSetBlobWriter(
  view: SetView,
  stripes: StripePool,
  options: {
    readonly id: string
    readonly redundancy: Redundancy | undefined
    readonly sizeHint: number | undefined
    ready(): MaybePromise<void>
    onFinished(id: string, blob: KnownBlob): MaybePromise<void>
  },
): SetBlobWriter {
  return new SetBlobWriter({
    view,
    ...options,
    parityCount: view.parityOf(options.redundancy),
    acquireStripe: code => stripes.acquire(code),
    releaseStripe: stripe => stripes.release(stripe),
  })
}
