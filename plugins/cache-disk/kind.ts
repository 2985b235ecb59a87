/** Makes the tier of each thread from the configuration. */
import type { Threads } from 'svc/kernel'
import type { CacheTier, CacheTierContext, CacheTierKind } from 'svc/plugins/cache/api'
import { type CacheDiskConfig, sizeDefault } from './config.ts'
import { createDiskFiles, type DiskFiles, noUsage } from './disk-tier.ts'
import { type OwnKeeper, openKeeper } from './keeper.ts'
import { answerThreads, createRemoteKeeper } from './threads.ts'

/** The disk tier, with a promise that tests wait for. */
export interface DiskTier extends CacheTier {
  /** Resolves when the walk after the start has read every folder. */
  walked(): Promise<void>
}

export interface DiskKind extends CacheTierKind {
  create(context: CacheTierContext): DiskTier
}

export function createDiskKind({ dir = '', size = sizeDefault }: CacheDiskConfig, threads: Threads): DiskKind {
  const isConfigured = dir !== ''
  let own: OwnKeeper | undefined
  if (threads.isMain && isConfigured) answerThreads(threads, () => own)
  return {
    isConfigured,
    budgetBytes: size,
    create({ budgetBytes, deploymentId, clock, log, random }) {
      let files: DiskFiles | undefined
      const remote = threads.isMain ? undefined : createRemoteKeeper(threads)
      const keeper = () => own ?? remote
      return {
        async start() {
          if (threads.isMain) own = await openKeeper({ dir, deploymentId, budgetBytes, clock, log, random })
          const used = keeper()
          if (used !== undefined) files = createDiskFiles(dir, used, threads.index)
        },
        async stop() {
          files = undefined
          const closing = own
          own = undefined
          await closing?.close()
        },
        get: id => files?.get(id),
        put: (id, record) => files?.put(id, record) ?? false,
        hasAll: ids => keeper()?.hasAll(ids) ?? false,
        delete: id => keeper()?.remove(id),
        heads: (after, limit) => own?.heads(after, limit) ?? [],
        usage: () => own?.usage() ?? noUsage,
        walked: async () => own?.walked(),
      }
    },
  }
}
