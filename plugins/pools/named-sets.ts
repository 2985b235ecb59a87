/** Sets as they were named, in each thread with the same names. */
import type { DriveSet, SetsService } from 'svc/plugins/erasure/api'
import type { StorageBackendOptions } from 'svc/plugins/storage/api'
import { deriveInPools } from './derive.ts'
import { cutPools, type NamedSet } from './endpoints.ts'

/** What several sets are made with in each thread. */
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
      // Which of them has the records only the open sets tell: each can do what any does.
      procedures: proceduresOf(index),
      derive: deriveInPools(options.derive),
    }),
  }))
}
