/** The three questions and their answers. */
import { type Contribution, isCatalogError, type KernelService, type Logger, type Ports } from 'svc/kernel'
import type { DriveCount, HealthCheck, HealthState } from './api.ts'

export interface LiveBody {
  readonly ok: boolean
  readonly status: string
}

export interface ReadyBody extends LiveBody {
  /** `ok` or the problem, by the ids of the contributed checks; `storage` is one of them. */
  readonly checks: Readonly<Record<string, string>>
}

export interface ClusterBody extends LiveBody {
  readonly nodes: number
  readonly nodesOnline: number
  readonly drives: number
  readonly drivesOnline: number
  /** Every erasure set accepts writes. */
  readonly writeQuorum: boolean
  /** Another node can be shut down without losing quorum. */
  readonly maintenance: boolean
}

export interface Probes {
  /** 503 only where nothing but a restart helps. */
  live(): Promise<LiveBody>
  ready(): Promise<ReadyBody>
  cluster(): Promise<ClusterBody>
}

export interface ProbesOptions {
  readonly kernel: Pick<KernelService, 'state' | 'degraded'>
  /** Called after set-up. */
  readonly checks: () => readonly Contribution<HealthCheck>[]
  readonly drives: () => readonly Contribution<() => DriveCount | Promise<DriveCount>>[]
  readonly ports: Ports
  readonly log: Logger
}

const noDrives: DriveCount = { drives: 0, drivesOnline: 0, writeQuorum: false }

/** A check that has not answered by then is not ok. */
const checkTimeoutMs = 2_000
/** A thread that has not told of its drives by then hangs, and its process with it. */
const hangTimeoutMs = 10_000
const hanging: DriveCount = { ...noDrives, needsRestart: true }
/** The same problem is logged again after this time. */
const repeatMs = 300_000

export function createProbes({ kernel, checks, drives, ports, log }: ProbesOptions): Probes {
  const said = new Map<string, { readonly problem: string; readonly atMs: number }>()
  /** Once when the problem is new, then every few minutes: probes come every second. */
  function warn(check: string, error: unknown): void {
    const problem = String((error as Error).message ?? error)
    const atMs = ports.clock.now()
    const before = said.get(check)
    if (before?.problem === problem && atMs - before.atMs < repeatMs) return
    said.set(check, { problem, atMs })
    log.warn({ err: error, check }, 'health check failed')
  }

  async function within<T>(answer: Promise<T> | T, timeoutMs: number, late: T): Promise<T> {
    let cancel: (() => void) | undefined
    const timeout = new Promise<T>(resolve => {
      cancel = ports.clock.after(timeoutMs, () => resolve(late))
    })
    try {
      return await Promise.race([answer, timeout])
    } finally {
      cancel?.()
    }
  }

  async function run(name: string, check: HealthCheck): Promise<HealthState> {
    try {
      const state = await within(check(), checkTimeoutMs, { ok: false, detail: 'no answer' })
      said.delete(name)
      return state
    } catch (error) {
      // The reason may name paths or hosts: it is logged, and not answered.
      warn(name, error)
      const isOfStorage = isCatalogError(error) && (error.code === 'unavailable' || error.code === 'faulty')
      return { ok: false, detail: isOfStorage ? 'unknown: the storage does not answer' : undefined }
    }
  }

  async function countDrives(): Promise<DriveCount> {
    const counts: DriveCount[] = []
    for (const { id, value } of drives()) {
      try {
        counts.push(await value())
      } catch (error) {
        warn(`drives of ${id}`, error)
        counts.push(noDrives)
      }
    }
    return {
      drives: counts.reduce((sum, count) => sum + count.drives, 0),
      drivesOnline: counts.reduce((sum, count) => sum + count.drivesOnline, 0),
      writeQuorum: counts.length > 0 && counts.every(count => count.writeQuorum),
    }
  }

  return {
    async live() {
      if (kernel.state() !== 'ready') return { ok: true, status: 'live' }
      const counts = await Promise.all(
        drives().map(async ({ value }) => {
          try {
            return await within(value(), hangTimeoutMs, hanging)
          } catch {
            // A storage that cannot tell is no reason for a restart.
            return noDrives
          }
        }),
      )
      const needsRestart = counts.some(count => count.needsRestart === true)
      return { ok: !needsRestart, status: needsRestart ? 'restart needed' : 'live' }
    },

    async ready() {
      const state = kernel.state()
      // Before its start a plugin has no state to report.
      const list = state === 'starting' ? [] : checks()
      const states = await Promise.all(list.map(({ id, value }) => run(id, value)))
      const results = Object.fromEntries(
        states.map(({ ok, detail = ok ? 'ok' : 'failed' }, index) => [list[index]!.id, detail]),
      )
      const ok = state === 'ready' && states.every(state => state.ok)
      for (const { plugin } of kernel.degraded()) results[plugin] = 'degraded'
      const status = state !== 'ready' ? state : ok ? 'ready' : 'unavailable'
      return { ok, status, checks: results }
    },

    async cluster() {
      const count = kernel.state() === 'starting' ? noDrives : await countDrives()
      const serving = kernel.state() === 'ready'
      const ok = serving && count.writeQuorum
      return {
        ok,
        status: ok ? 'ok' : serving ? 'degraded' : kernel.state(),
        nodes: 1,
        nodesOnline: serving ? 1 : 0,
        ...count,
        // One node: shutting it down is losing quorum.
        maintenance: false,
      }
    },
  }
}
