/** Creates the sets that the operator named, in each thread with the same names. Used by `backend.ts` and `worker-backend.ts`. */
import type { DriveSet, SetsService } from 'svc/plugins/erasure/api'
import type { StorageBackendOptions } from 'svc/plugins/storage/api'
import { deriveInPools } from './derive.ts'
import { cutPools, type NamedSet } from './endpoints.ts'

/** What the sets are created with, in each thread. */
export interface PoolsContext extends StorageBackendOptions {
  readonly sets: SetsService
}

export interface MadeSet extends NamedSet {
  readonly set: DriveSet
}

export function createSets(
  options: PoolsContext,
  proceduresOf: (index: number) => StorageBackendOptions['procedures'],
): MadeSet[] {
  const { endpoints, pools = [endpoints], sets } = options
  const named = cutPools(pools)
  return named.map(({ argument, paths }, index) => ({
    argument,
    paths,
    set: sets.create({
      threads: options.threads,
      ports: options.ports,
      log: options.log,
      endpoints: paths,
      name: `pool-set-${index}`,
      shareOf: endpoints.length,
      setCount: named.length,
      // Any of them may turn out to be the record set, so each has all procedures.
      procedures: proceduresOf(index),
      derive: deriveInPools(options.derive),
    }),
  }))
}
