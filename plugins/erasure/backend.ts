/**
 * The storage backend `erasure`: a set of several drives. In the storage thread it opens the set, wires it to its background repair, and
 * serves the worker threads, which have a backend of their own (`worker-set.ts`). Created by `sets.ts`.
 */
import { promised, type Threads } from 'svc/kernel'
import type { Finality, Garbage, Outlook } from 'svc/plugins/drive/api'
import type { BlobRef, ExecuteOptions, StorageBackend } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { AnswerWatch, isDoneIn } from './answer-watch.ts'
import { Codes } from './codec/codes.ts'
import { ErasureSet, inlineBytesMax } from './erasure-set.ts'
import { FreshBlobs } from './fresh-blobs.ts'
import { Healing } from './healing.ts'
import { defaultUnitBytes } from './layout.ts'
import { Ledger } from './ledger.ts'
import { MountCheck } from './mount-check.ts'
import * as mounts from './mounts.ts'
import { openSet } from './opening.ts'
import { RepairLoop } from './repair-loop.ts'
import { deriveInSet } from './set-derive.ts'
import { createDrive, createSetBlobWriter, createStripeMemory, type SetContext, threadsOf } from './set-drives.ts'
import { stagedEnd, stagedKey, stagedStart } from './set-keys.ts'
import { createSetProcedures, procedure } from './set-procedures.ts'
import { SetReading } from './set-reading.ts'
import { idFromSlot } from './set-view.ts'
import { SlowDriveDetector } from './slow-drive-detector.ts'
import { StripePool } from './stripe-pool.ts'
import {
  type ExecuteMessage,
  type FaultyMessage,
  type FreshMessage,
  type MissingShardMessage,
  message,
  type SetAttachment,
  SharedMembers,
  type SuspectMessage,
} from './thread-messages.ts'
import type { WatchedDrive } from './watched-drive.ts'
import { createWorkerSet } from './worker-set.ts'
import { WriteState } from './write-state.ts'

export interface OpenSet {
  readonly set: ErasureSet
  readonly healing: Healing
  readonly repairLoop: RepairLoop
  readonly ledger: Ledger
  readonly mountCheck: MountCheck
  readonly writeState: WriteState
}

export interface BackendOptions extends SetContext {
  readonly parityCount: number
  /** Default: asks the file system. */
  readonly isMount?: mounts.IsMount
  readonly sharedFileSystems?: typeof mounts.sharedFileSystems
  /** Length of a tick of the watch, in milliseconds. Default: see `AnswerWatch`. */
  readonly tickMs?: number
  /** Storage thread only: called with the open set after the start, and with undefined at the stop. */
  onOpen(open: OpenSet | undefined): void
}

export interface SetBackend extends StorageBackend {
  /** `deploymentId`: deployment of drives without a format. Default: that of the other drives, or a new one. */
  start(deploymentId?: string): Promise<void>
  /** See `DriveSet`. */
  requireQuorum(): void
}

export function createBackend(options: BackendOptions): SetBackend {
  const own = { ...options, threads: threadsOf(options) }
  return own.threads.isMain ? createMainSet(own) : createWorkerSet(own)
}

/** How long a start waits for drives that catch up, in ticks of the watch: two seconds. */
const bringBackTicks = 8

interface Running extends OpenSet {
  readonly reading: SetReading
  readonly stripes: StripePool
  readonly slowDriveDetector: SlowDriveDetector
  readonly stopping: AbortController
}

const nothingFinal: Outlook = { afterMs: 0, beforeMs: Number.NEGATIVE_INFINITY, term: 0 }

const memberAt = ({ set }: Pick<Running, 'set'>, index: number) => set.members.find(each => each.index === index)!

function createMainSet(options: BackendOptions): SetBackend {
  const { threads, ports, log, drives, endpoints, parityCount, procedures, derive } = options
  const { isMount = mounts.isMount, sharedFileSystems = mounts.sharedFileSystems } = options
  const slotCount = endpoints.length
  const freshBlobs = new FreshBlobs()
  const newId = drives.blobIds(ports)
  const watch = new AnswerWatch(ports.clock, options.tickMs)
  const shared = SharedMembers.create(slotCount)
  const noteRequest = () => shared.noteRequest(ports.clock.now())
  const msSinceRequest = () => shared.msSinceRequest(ports.clock.now())
  shared.leader = -1
  let running: Running | undefined
  const open = (): Running => {
    if (running === undefined) throw storageErrors.unavailable('The set is not open.')
    return running
  }
  serveWorkers({ threads, shared, freshBlobs, open })
  const setProcedures = createSetProcedures({
    procedures,
    slotCount,
    // Of the set document, not of the configuration.
    parityCount: () => open().set.parityCount,
    freshBlob: id => freshBlobs.get(id),
  })
  const driveOptions = { ...options, procedures: setProcedures, derive: deriveInSet(derive) }
  // One drive for each path: it registers handlers of messages between threads.
  const made: WatchedDrive[] = []
  const create = (index: number, deploymentId: string) => {
    const garbage = (blobId?: string) => (running === undefined ? 'later' : garbageIn(running, index, blobId))
    const onFault = (error: unknown) => failDrive(index, error)
    const finality: Finality = {
      look: () => (running === undefined ? nothingFinal : running.set.outlookOf(memberAt(running, index))),
      isNeeded(blobId) {
        if (running === undefined) return Promise.resolve(true)
        const { slot, hasCaughtUp } = memberAt(running, index)
        return hasCaughtUp ? false : running.healing.isOwned(idFromSlot(blobId, slot))
      },
    }
    made[index] ??= createDrive(driveOptions, index, watch, { deploymentId, garbage, finality, onFault })
    return made[index]
  }
  /** A drive has failed, perhaps while nobody used it. Before the set is open, the start finds it. */
  const failDrive = (index: number, error: unknown) => {
    const member = running?.set.members.find(each => each.index === index)
    if (member?.isOpen) running!.set.onDriveError(member.slot, error)
    else log.error({ err: error, path: endpoints[index] }, 'a drive of the set has failed')
  }
  /**
   * An offline drive may hold a change that was never acknowledged, and may become the leader: then the other drives need their shards of
   * its blobs. So nothing is garbage before a leader has claimed an epoch, nor while a change is in doubt, nor on a drive that lacks records. A change
   * that was under way when the drive came back may have taken a blob from its last record in an earlier opening: `DeadBlobs` knows nothing of it.
   */
  const garbageIn = ({ set }: Running, index: number, blobId?: string): Garbage => {
    const member = memberAt({ set }, index)
    const hasAll = member.state === 'current' && member.hasCaughtUp
    const isFinal = !set.hasDoubts && set.outlookOf(member).beforeMs > member.returnedMs
    if (!set.isEpochClaimed || !isFinal || !hasAll) return 'later'
    return blobId !== undefined && freshBlobs.has(idFromSlot(blobId, member.slot)) ? 'keep' : 'delete'
  }
  return {
    inlineBytesMax,
    async start(ofDeployment) {
      const opened = await openSet({
        drives,
        ports,
        log,
        paths: endpoints,
        parityCount,
        unitBytes: defaultUnitBytes,
        deploymentId: ofDeployment,
        watch,
        isMount,
        sharedFileSystems,
        create,
      })
      const { document } = opened
      const memory = createStripeMemory(options)
      const codes = new Codes(memory, slotCount)
      const set: ErasureSet = new ErasureSet({
        opened,
        codes,
        reducedParityCount: options.reducedParityCount,
        disk: drives.disk,
        log,
        freshBlobs,
        watch,
        clock: ports.clock,
        newId,
        onMembersChanged() {
          publish(set, shared)
          // Before, the start waits for drives.
          running?.writeState.look()
        },
      })
      const slowDriveDetector = new SlowDriveDetector(set, watch)
      const stopping = new AbortController()
      try {
        const ledger = new Ledger(set)
        const healing = new Healing(set, newId, { clock: ports.clock, msSinceRequest })
        const folders = {
          look: (path: string) => drives.look(path),
          isThere: (path: string) => drives.disk.exists(path),
        }
        const { clock } = ports
        const { retryMsMax } = options
        const repairLoop = new RepairLoop({ set, healing, ledger, clock, watch, log, isMount, retryMsMax, ...folders })
        repairLoop.expect(opened.pending)
        const back = repairLoop.bringBack(stopping.signal)
        // If enough drives are current, the others catch up while requests are served.
        if (!(await isDoneIn(back, watch, bringBackTicks)) && set.currentCount < set.writeQuorum) await back
        back.catch(error => log.warn({ err: error }, 'offline drives could not be opened; they are tried again'))
        if (set.epoch !== 0) await dropStaged(set)
        publish(set, shared)
        running = {
          set,
          healing,
          repairLoop,
          ledger,
          mountCheck: new MountCheck({ set, watch, ...folders, deviceOf: drives.disk.deviceOf }),
          slowDriveDetector,
          reading: new SetReading(set, noteRequest),
          stripes: new StripePool(document.unitBytes),
          writeState: new WriteState({ set, clock, log }),
          stopping,
        }
        options.onOpen(running)
      } catch (error) {
        stopping.abort()
        await set.stop()
        throw error
      }
    },
    async stop() {
      const closing = running
      running = undefined
      shared.leader = -1
      options.onOpen(undefined)
      closing?.stopping.abort()
      await closing?.set.stop()
    },
    execute<Result>(name: string, args: unknown, body?: Uint8Array, options?: ExecuteOptions) {
      noteRequest()
      return promised(() => open().set.execute(name, args, body, options) as Promise<Result>)
    },
    get: key => open().reading.get(key),
    scan: (start, end, visit) => open().reading.scan(start, end, visit),
    scanDerived: (start, end, visit) => open().reading.scanDerived(start, end, visit),
    counter: key => open().reading.counter(key),
    counters: (start, end, limit) => open().reading.counters(start, end, limit),
    readBody: ref => open().reading.readBody(ref),
    createBlob(sizeHint, { redundancy } = {}) {
      const { set, stripes } = open()
      return createSetBlobWriter(set, stripes, {
        id: newId(),
        redundancy,
        sizeHint,
        ready: () => undefined,
        onFinished: (id, blob) => freshBlobs.add(id, blob),
      })
    },
    requireQuorum: () => open().set.requireQuorum(),
    pinBlobs: (refs: readonly BlobRef[]) => open().reading.pinBlobs(refs),
    readBlob: (ref, start, length) => open().reading.readBlob(ref, start, length),
    drives: () => (running === undefined ? [] : running.set.status()),
  }
}

/** Drops shards that an interrupted commit left staged; only once no other leader can still have made that commit. */
async function dropStaged(set: ErasureSet): Promise<void> {
  const prefix = stagedKey('').length
  for (const { state, drive, slot } of set.members) {
    if (state !== 'current') continue
    const ids = await drive.scan(stagedStart, stagedEnd, cursor => {
      const found: string[] = []
      while (cursor.next()) found.push(cursor.key.latin1Slice(prefix))
      return found
    })
    if (ids.length === 0) continue
    try {
      await drive.execute(procedure.unstage, ids)
    } catch (error) {
      set.onDriveError(slot, error)
    }
  }
}

function publish(set: ErasureSet, shared: SharedMembers): void {
  for (const { slot, takesWrites, openings, generation } of set.members) {
    shared.setGeneration(slot, generation)
    shared.setOpening(slot, takesWrites ? openings : 0)
  }
  let leader = -1
  if (set.currentCount > 0) leader = set.leader().slot
  shared.leader = leader
  shared.currentCount = set.currentCount
}

interface WorkerServing {
  readonly threads: Threads
  readonly shared: SharedMembers
  readonly freshBlobs: FreshBlobs
  open(): Running
}

function serveWorkers({ threads, shared, freshBlobs, open }: WorkerServing): void {
  if (threads.workerCount === 0) return
  threads.handle<void, SetAttachment>(message.attach, () => {
    const { set } = open()
    return {
      indexes: set.members.map(({ index }) => index),
      parityCount: set.parityCount,
      unitBytes: set.unitBytes,
      members: shared.cells.buffer as SharedArrayBuffer,
    }
  })
  threads.handle<ExecuteMessage, unknown>(message.execute, ({ name, args, body, options }) =>
    open().set.execute(name, args, body, options),
  )
  threads.handle<FreshMessage, void>(message.fresh, ({ id, blob }) => freshBlobs.add(id, blob))
  threads.handle<MissingShardMessage, void>(message.missingShard, missingShard => {
    const key = missingShard.key === undefined ? undefined : Buffer.from(missingShard.key)
    open().set.onMissingShard({ ...missingShard, key })
  })
  threads.handle<FaultyMessage, void>(message.faulty, ({ slot, message: text }) => {
    open().set.onDriveError(slot, storageErrors.faulty(text))
  })
  threads.handle<SuspectMessage, void>(message.suspect, ({ slot }) => open().slowDriveDetector.suspect(slot))
  threads.handle(message.status, () => open().set.status())
}
