/** The storage backend `drive`: one folder of one file system. */
import { isAbsolute } from 'node:path'
import type { StorageBackend, StorageBackendOptions } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { createAttachedDrive } from './attached-drive.ts'
import { type DriveConfig, inlineBytesMax } from './config.ts'
import { Drive } from './drive.ts'
import { openLmdbIndex, removeLmdbIndex } from './lmdb-index.ts'
import { lockDrive } from './lock.ts'
import { createWorkerHost } from './worker-host.ts'

export function validateEndpoints(endpoints: readonly string[]): string[] {
  if (endpoints.length === 0) return ['No drive is named.']
  if (endpoints.length > 1) return ['Several drives are not built yet: erasure sets are to come. Name one folder.']
  const [path] = endpoints as [string]
  return isAbsolute(path) ? [] : [`The drive path ${JSON.stringify(path)} is not absolute.`]
}

/** `onOpen` hears of the open drive in the thread that owns it, and of its end. */
export function createBackend(
  options: StorageBackendOptions,
  config: DriveConfig,
  onOpen: (drive: Drive | undefined) => void,
): StorageBackend {
  const { threads, ports, log } = options
  if (!threads.isMain) return createAttachedDrive({ threads, config, ports, log, openIndex: openLmdbIndex })
  const host = createWorkerHost(threads)
  let drive: Drive | undefined
  const open = (): Drive => {
    if (drive === undefined) throw storageErrors.unavailable('The drive is not open.')
    return drive
  }
  return {
    inlineBytesMax,
    async start() {
      drive = await Drive.open({
        path: options.endpoints[0]!,
        config,
        procedures: options.procedures,
        derive: options.derive,
        ports,
        log,
        observer: host.shared,
        spaceCells: host.shared?.spaceCells,
        openIndex: async path => openLmdbIndex(path),
        removeIndex: removeLmdbIndex,
        lock: lockDrive,
      })
      host.open(drive)
      onOpen(drive)
    },
    async stop() {
      const closing = drive
      drive = undefined
      onOpen(undefined)
      await closing?.close()
    },
    execute: <Result>(procedure: string, args: unknown, body?: Uint8Array) =>
      open().execute(procedure, args, body) as Promise<Result>,
    get: key => open().get(key),
    scan: (start, end, visit) => open().scan(start, end, visit),
    scanDerived: (start, end, visit) => open().scanDerived(start, end, visit),
    counter: key => open().counter(key),
    readBody: ref => open().readBody(ref),
    createBlob: () => open().createBlob(),
    readBlob: (ref, start, length) => open().readBlob(ref, start, length),
    drives: () => (drive === undefined ? [] : [drive.status()]),
  }
}
