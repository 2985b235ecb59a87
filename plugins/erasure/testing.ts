/** For simulations of storages of several sets, in `pools`: the service `sets` over simulated drives. */
import type { DrivesService } from 'svc/plugins/drive/api'
import type { SetsService } from './api.ts'
import type { OpenSet } from './backend.ts'
import { createSets } from './sets.ts'

export type { OpenSet } from './backend.ts'

export interface SimulatedSets {
  readonly service: SetsService
  /** Open sets, for their background work. */
  readonly open: ReadonlySet<OpenSet>
}

/** In one thread, for one life of a process. */
export function createSimulatedSets(
  drives: DrivesService,
  parityOf: (driveCount: number) => number,
  operationsMax?: number,
): SimulatedSets {
  const open = new Set<OpenSet>()
  const service = createSets({
    drives,
    open,
    parityOf,
    reducedParityCount: 0,
    operationsMax,
    // Simulated folders are on no file system: asking the real one would take a time that does not depend on the seed.
    fileSystems: { isMount: async () => true, sharedFileSystems: async () => [] },
    validate: () => [],
    check: async () => [],
    plan: async () => [],
    notLookedAt: async () => [],
    peek: async () => undefined,
    peekScan: async () => undefined,
    show: () => undefined,
  })
  return { service, open }
}
