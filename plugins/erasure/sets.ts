/**
 * The service `sets`, which creates sets, and the backend of a storage that is one set. Used by `index.ts`, and by `pools` through the
 * service.
 */
import type { DrivesService } from 'svc/plugins/drive/api'
import type { StorageBackend, StorageBackendOptions, StorageLookOptions } from 'svc/plugins/storage/api'
import { type DriveSet, type RedundantSet, type SetOptions, type SetsService, sharedSetKey } from './api.ts'
import { type BackendOptions, createBackend, type OpenSet } from './backend.ts'
import { erasureErrors } from './errors.ts'
import { createRedundantSet } from './redundancy.ts'

export interface SetsOptions extends Omit<SetsService, 'create'> {
  readonly drives: DrivesService
  /** Sets that are open in this thread: the background workers go over them. */
  readonly open: Set<OpenSet>
  parityOf(driveCount: number): number
  /** See `SetContext`. */
  readonly reducedParityCount: number
  /** See `SetContext`. */
  readonly retryMsMax?: number
  /** What is asked of the file systems of drives; absent: the real ones. */
  readonly fileSystems?: Pick<BackendOptions, 'isMount' | 'sharedFileSystems'>
  /** See `SetContext`. */
  readonly operationsMax?: number
}

/** `name` is undefined for a set that is the whole storage. */
export interface Sets extends Omit<SetsService, 'create'> {
  create(options: Omit<SetOptions, 'name'> & { readonly name?: string }): DriveSet
}

export function createSets(options: SetsOptions): Sets {
  const { drives, open, parityOf, reducedParityCount, retryMsMax, fileSystems, operationsMax, ...service } = options
  return {
    ...service,
    create(given) {
      let opened: OpenSet | undefined
      let redundant: RedundantSet | undefined
      const backend = createBackend({
        ...given,
        ...fileSystems,
        drives,
        parityCount: parityOf(given.endpoints.length),
        reducedParityCount,
        retryMsMax,
        operationsMax,
        onOpen(next) {
          if (opened !== undefined) open.delete(opened)
          opened = next
          redundant = next && createRedundantSet(next)
          if (next !== undefined) open.add(next)
        },
      })
      return Object.defineProperty(backend, 'redundant', { get: () => redundant }) as DriveSet
    },
  }
}

function sharedSetProblem(paths: readonly string[]): string {
  return `The drives ${paths.join(', ')} are one of several sets of a storage. Name the drives of all of its pools.`
}

/** For `server --dry-run`: `check` of a set that is to be the whole storage. */
export async function checkSoleSet(sets: Sets, options: StorageLookOptions): Promise<readonly string[]> {
  const problems = await sets.check(options)
  if (problems.length > 0) return problems
  try {
    const isShared = (await sets.peek(options, sharedSetKey)) !== undefined
    return isShared ? [sharedSetProblem(options.endpoints)] : []
  } catch {
    // Only a start can tell.
    return []
  }
}

/** A set that is the whole storage. Its start is refused if it is one of several: the blobs of other sets would be missing. */
export function createSoleSet(sets: Sets, options: StorageBackendOptions): StorageBackend {
  const set = sets.create({ ...options, shareOf: options.endpoints.length, setCount: 1 })
  const { start, stop } = set
  return Object.assign(set, {
    async start() {
      await start()
      if (!options.threads.isMain) return
      try {
        if ((await set.get(sharedSetKey)) !== undefined) {
          throw erasureErrors.pool_missing(sharedSetProblem(options.endpoints))
        }
      } catch (error) {
        await stop()
        throw error
      }
      sets.show(set.redundant)
    },
    async stop() {
      sets.show(undefined)
      await stop()
    },
  })
}
