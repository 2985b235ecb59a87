/**
 * The storage thread's side of the worker messages: answers reads of `AttachedDrive` and runs the procedures that workers send.
 */
import { type Threads, withOwnMemory } from 'svc/kernel'
import { type DriveStatus, storageErrors } from 'svc/plugins/storage/api'
import { BlobMarks, blobMarksBytes } from './blob-marks.ts'
import { BlobPins, blobPinsBytes } from './blob-pins.ts'
import { createArenaMemory } from './body-arena.ts'
import type { NoteDamage } from './damage.ts'
import type { Drive } from './drive.ts'
import { SharedState, sharedStateBytes } from './shared-state.ts'
import {
  type AnswerMessage,
  type Attachment,
  type ExecuteMessage,
  type MemtableAnswer,
  type MemtableQuestion,
  message,
  packError,
} from './thread-messages.ts'

export interface WorkerHost {
  /** Allocates shared memory for the drive about to be opened; undefined without workers. */
  prepare(): { readonly shared: SharedState; readonly marks: BlobMarks } | undefined
  /** Whether a worker has pinned this blob. */
  isPinned(id: string): boolean
  open(drive: Drive): void
  /** Refuses the attached workers until they attach again, even if the drive is opened again meanwhile. */
  close(): void
  /**
   * After `close`: the workers close what they have open. Until all threads have done so, an index that is lost cannot be opened again, and
   * the file system of a drive that has failed cannot be unmounted.
   */
  release(): Promise<void>
}

/** Registers the handlers. They answer after `open`; a worker that attaches waits for `settled` first. */
export function createWorkerHost(
  threads: Threads,
  settled: () => Promise<unknown>,
  status: () => readonly DriveStatus[],
): WorkerHost {
  if (threads.workerCount === 0) {
    return {
      prepare: () => undefined,
      isPinned: () => false,
      open: () => undefined,
      close: () => undefined,
      release: async () => undefined,
    }
  }
  let memory = new SharedArrayBuffer(sharedStateBytes)
  let shared = new SharedState(memory)
  let marksMemory = new SharedArrayBuffer(blobMarksBytes)
  const arenas = new Map<number, SharedArrayBuffer>()
  const pins = new Map<number, BlobPins>()
  let drive: Drive | undefined

  const open = (): Drive => {
    if (drive === undefined) throw storageErrors.unavailable('The drive is not open.')
    return drive
  }
  const requireAttached = (worker: number): void => {
    if (!arenas.has(worker)) throw storageErrors.unavailable('The drive has been opened again.')
  }

  threads.handle<void, Attachment>(message.attach, async (_payload, worker) => {
    await settled()
    const { path, driveId, blobFiles } = open()
    const arena = createArenaMemory()
    arenas.set(worker, arena)
    const pinTable = new SharedArrayBuffer(blobPinsBytes)
    pins.set(worker, new BlobPins(pinTable))
    return {
      path,
      driveId,
      state: memory,
      arena,
      pins: pinTable,
      marks: marksMemory,
      startMs: blobFiles.startMs,
      device: blobFiles.place.device,
    }
  })
  threads.handle<readonly ExecuteMessage[], AnswerMessage[]>(message.execute, (items, worker) => {
    const { engine } = open()
    requireAttached(worker)
    const arena = arenas.get(worker)!
    const answers: AnswerMessage[] = new Array(items.length)
    let left = items.length
    return new Promise(resolve => {
      const answer = (i: number, reply: AnswerMessage): void => {
        answers[i] = reply
        if (--left === 0) resolve(answers)
      }
      for (const [i, { procedure, args, body, bodyOffset, bodySize }] of items.entries()) {
        const bytes = bodyOffset < 0 ? body : Buffer.from(arena, bodyOffset, bodySize)
        engine.submit(
          procedure,
          args,
          bytes,
          (result, place) => answer(i, { result, error: undefined, place }),
          error => answer(i, { result: undefined, error: packError(error), place: undefined }),
        )
      }
    })
  })
  threads.handle(message.get, (key: Uint8Array, worker) => {
    requireAttached(worker)
    const record = open().get(key as Buffer)
    return record === undefined ? undefined : { value: withOwnMemory(record.value), body: record.body }
  })
  threads.handle(message.counter, (key: Uint8Array, worker) => {
    requireAttached(worker)
    return open().counter(key as Buffer)
  })
  threads.handle(message.counters, ([start, end, limit]: [Buffer, Buffer, number], worker) => {
    requireAttached(worker)
    return open()
      .counters(start, end, limit)
      .map(({ key, sums }) => ({ key: withOwnMemory(key), sums }))
  })
  threads.handle(message.flush, (_payload: undefined, worker) => {
    requireAttached(worker)
    return open().checkpoints.flush()
  })
  threads.handle<MemtableQuestion, MemtableAnswer>(message.memtable, (question, worker) => {
    requireAttached(worker)
    return open().memtable(question)
  })
  threads.handle(message.spareBlob, (id: string, worker) => {
    requireAttached(worker)
    return open().spareBlob(id)
  })
  threads.handle(message.discardBlob, (id: string, worker) => {
    requireAttached(worker)
    return open().blobFiles.discard(id)
  })
  threads.handle(message.noteDamage, ([place, reason]: Parameters<NoteDamage>, worker) => {
    requireAttached(worker)
    return open().damage.note(place, reason)
  })
  threads.handle(message.indexLost, (reason: string, worker) => {
    requireAttached(worker)
    open().engine.fail(storageErrors.faulty(reason))
  })
  threads.handle(message.status, status)
  threads.onExit(worker => {
    arenas.delete(worker)
    pins.delete(worker)
  })

  return {
    prepare() {
      memory = new SharedArrayBuffer(sharedStateBytes)
      shared = new SharedState(memory)
      marksMemory = new SharedArrayBuffer(blobMarksBytes)
      return { shared, marks: new BlobMarks(marksMemory) }
    },
    isPinned(id) {
      for (const table of pins.values()) if (table.has(id)) return true
      return false
    },
    open(opened) {
      drive = opened
      opened.onSegmentRemoved = segment => {
        for (const worker of arenas.keys()) threads.post(worker, message.forgetSegment, segment)
      }
    },
    close() {
      shared.close()
      drive = undefined
      arenas.clear()
      pins.clear()
    },
    async release() {
      await threads.callOthers(message.release)
    },
  }
}
