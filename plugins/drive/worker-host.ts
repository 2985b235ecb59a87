/** The side of the storage thread: answers what workers ask, and runs what they hand over. */
import type { Threads } from 'svc/kernel'
import { createArenaMemory } from './body-arena.ts'
import type { Drive } from './drive.ts'
import { SharedState, sharedStateBytes } from './shared-state.ts'
import { type AnswerMessage, type Attachment, type ExecuteMessage, message, packError } from './thread-messages.ts'

export interface WorkerHost {
  /** To be given to the drive; undefined where there are no workers. */
  readonly shared: SharedState | undefined
  open(drive: Drive): void
}

/** Registers the handlers; they answer from the moment that `open` was called. */
export function createWorkerHost(threads: Threads): WorkerHost {
  if (threads.workerCount === 0) return { shared: undefined, open: () => undefined }
  const memory = new SharedArrayBuffer(sharedStateBytes)
  const shared = new SharedState(memory)
  const arenas = new Map<number, SharedArrayBuffer>()
  let drive: Drive | undefined

  const open = (): Drive => {
    if (drive === undefined) throw new Error('the drive is not open')
    return drive
  }

  threads.handle<void, Attachment>(message.attach, (_payload, worker) => {
    const arena = createArenaMemory()
    arenas.set(worker, arena)
    return { path: open().path, state: memory, arena, startMs: open().blobFiles.startMs }
  })
  threads.handle<readonly ExecuteMessage[], AnswerMessage[]>(message.execute, (items, worker) => {
    const { engine } = open()
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
  threads.handle(message.get, (key: Uint8Array) => {
    const record = open().get(key as Buffer)
    // A view would be cloned with all of the memory that it looks at.
    return record === undefined ? undefined : { value: new Uint8Array(record.value), body: record.body }
  })
  threads.handle(message.counter, (key: Uint8Array) => open().counter(key as Buffer))
  threads.handle(message.flush, () => open().checkpoints.flush())
  threads.handle(message.status, () => [open().status()])
  threads.onExit(worker => arenas.delete(worker))

  return {
    shared,
    open(opened) {
      drive = opened
      opened.onSegmentRemoved = segment => {
        for (const worker of arenas.keys()) threads.post(worker, message.forgetSegment, segment)
      }
    },
  }
}
