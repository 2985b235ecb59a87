/** The storage in a worker thread: reads and writes blobs itself, and sends commits to the storage thread. Created by `backend.ts`. */
import type { DriveStatus, ExecuteOptions, StorageBackend } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { createSets, type PoolsContext } from './named-sets.ts'
import { Placement } from './placement.ts'
import { Routing } from './routing.ts'
import { type ExecuteMessage, message, type PoolsAttachment } from './thread-messages.ts'

const main = 0

/** Registers this worker's message handlers; `start` attaches to the sets. */
export function createWorkerPools(options: PoolsContext): StorageBackend {
  const { threads, ports } = options
  const named = createSets(options, () => ({}))
  let routing: Routing | undefined
  const open = (): Routing => {
    if (routing === undefined) throw storageErrors.unavailable('The storage is not open.')
    return routing
  }
  return {
    get inlineBytesMax() {
      return named[0]!.set.inlineBytesMax
    },
    async start() {
      const { order, cells } = await threads.call<PoolsAttachment>(main, message.attach)
      await Promise.all(named.map(({ set }) => set.start()))
      const sets = order.map(index => named[index]!.set)
      routing = new Routing(sets, new Placement(cells, ports.random))
    },
    async stop() {
      routing = undefined
      await Promise.all(named.map(({ set }) => set.stop()))
    },
    execute<Result>(name: string, args: unknown, body?: Uint8Array, options?: ExecuteOptions) {
      const call: ExecuteMessage = { name, args, body, options }
      return threads.call<Result>(main, message.execute, call)
    },
    get: key => open().records.get(key),
    scan: (start, end, visit) => open().records.scan(start, end, visit),
    scanDerived: (start, end, visit) => open().records.scanDerived(start, end, visit),
    counter: key => open().records.counter(key),
    counters: (start, end, limit) => open().records.counters(start, end, limit),
    readBody: ref => open().records.readBody(ref),
    createBlob: (sizeHint, options) => open().createBlob(sizeHint, options),
    pinBlobs: refs => open().pinBlobs(refs),
    readBlob: (ref, start, length) => open().readBlob(ref, start, length),
    drives: () => threads.call<readonly DriveStatus[]>(main, message.status),
  }
}
