/** Creates the parts of a set that the storage thread and the workers create alike: drives, blob writers, memory for stripes. */
import type { MaybePromise, Threads } from 'svc/kernel'
import type { DriveOptions, DrivesService } from 'svc/plugins/drive/api'
import type { Redundancy, StorageBackendOptions } from 'svc/plugins/storage/api'
import type { AnswerWatch } from './answer-watch.ts'
import { SetBlobWriter } from './blob-writing.ts'
import { boundedDisk, operationsMaxOf } from './bounded-disk.ts'
import { ShardMemory } from './codec/shard-memory.ts'
import type { KnownBlob } from './set-transaction.ts'
import type { SetView } from './set-view.ts'
import type { StripePool } from './stripe-pool.ts'
import { WatchedDrive } from './watched-drive.ts'

/** Memory per thread in which stripes are filled and encoded. */
const stripeMemoryBytes = 48 * 1024 * 1024

/** What a set is created with, in each thread. */
export interface SetContext extends StorageBackendOptions {
  readonly drives: DrivesService
  /** Parity of data with reduced redundancy; never more than that of the set. */
  readonly reducedParityCount: number
  /** Longest time between two attempts to heal a record. */
  readonly retryMsMax?: number
  /** If there are several sets: unique among them, the same in each thread. */
  readonly name?: string
  /** Number of drives that share the configured memory. Default: those of this set. */
  readonly shareOf?: number
  /** Number of sets that share the memory for stripes. Default 1. */
  readonly setCount?: number
  /** Concurrent operations on files of a drive, in each thread. Default: an equal share of the threads for them. */
  readonly operationsMax?: number
}

/** Lower bound for each of many sets: a few stripes of the widest set. */
const stripeMemoryBytesMin = 6 * 1024 * 1024

export function createStripeMemory({ setCount = 1 }: SetContext): ShardMemory {
  return new ShardMemory(Math.max(stripeMemoryBytesMin, Math.floor(stripeMemoryBytes / setCount)))
}

/** The messages between threads of one set among several: every name is prefixed with that of the set. */
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

/** A drive of the set; it has the same name in each thread. */
export function createDrive(
  { drives, procedures, derive, threads, ports, log, endpoints, name, shareOf, operationsMax }: SetContext,
  index: number,
  watch: AnswerWatch,
  own: Pick<DriveOptions, 'deploymentId' | 'garbage' | 'finality' | 'onFault'> = {},
): WatchedDrive {
  const driveCount = shareOf ?? endpoints.length
  const drive = drives.create({
    path: endpoints[index]!,
    name: name === undefined ? `set-${index}` : `${name}-${index}`,
    procedures,
    derive,
    threads,
    ports,
    disk: boundedDisk(drives.disk, operationsMax ?? operationsMaxOf(driveCount, threads)),
    log,
    ...own,
    shareOf: driveCount,
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
