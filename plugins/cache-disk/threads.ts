/** Messages by which worker threads call the keeper of the main thread. Several uses are sent together. */
import type { Threads } from 'svc/kernel'
import type { Keeper, OwnKeeper } from './keeper.ts'

const messages = {
  reserve: 'cache-disk.reserve',
  written: 'cache-disk.written',
  used: 'cache-disk.used',
  hasAll: 'cache-disk.has-all',
  remove: 'cache-disk.remove',
} as const
const usesAtOnce = 256

interface Written {
  readonly id: string
  readonly fileBytes: number
  readonly error?: string | undefined
}

/** Ids are sent as text: with a buffer, a message would copy the whole pool of memory that it lies in. */
const textOf = (id: Buffer) => id.toString('latin1')
const bufferOf = (text: string) => Buffer.from(text, 'latin1')

/** Called in the main thread during set-up. `own` returns undefined before the start. */
export function answerThreads(threads: Threads, own: () => OwnKeeper | undefined): void {
  threads.handle<number, boolean>(messages.reserve, (fileBytes, from) => own()?.of(from).reserve(fileBytes) ?? false)
  threads.handle<Written, void>(messages.written, ({ id, fileBytes, error }, from) =>
    own()?.of(from).written(bufferOf(id), fileBytes, error),
  )
  threads.handle<readonly string[], void>(messages.used, ids => {
    for (const id of ids) own()?.used(bufferOf(id))
  })
  threads.handle<readonly string[], boolean>(messages.hasAll, ids => own()?.hasAll(ids.map(bufferOf)) ?? false)
  threads.handle<string, void>(messages.remove, id => own()?.remove(bufferOf(id)))
  threads.onExit(index => own()?.ended(index))
}

/** The keeper of a worker. */
export function createRemoteKeeper(threads: Threads): Keeper {
  let uses: string[] = []

  function tellUses(): void {
    if (uses.length > 0) threads.post(0, messages.used, uses)
    uses = []
  }

  return {
    // Whether the file exists shows when it is read.
    mayHave: () => true,
    reserve: fileBytes => threads.call<boolean>(0, messages.reserve, fileBytes),
    written: (id, fileBytes, error) => threads.post(0, messages.written, { id: textOf(id), fileBytes, error }),
    used(id) {
      if (uses.length === 0) setImmediate(tellUses)
      uses.push(textOf(id))
      if (uses.length >= usesAtOnce) tellUses()
    },
    // A worker does not know the index, so every miss ends here: to tell the main thread of each would be costly.
    missing() {},
    hasAll: ids => threads.call<boolean>(0, messages.hasAll, ids.map(textOf)),
    remove: id => threads.call<void>(0, messages.remove, textOf(id)),
  }
}
