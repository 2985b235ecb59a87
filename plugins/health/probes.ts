/** The three questions and their answers. */
import type { Contribution, KernelService, Logger, Ports } from 'svc/kernel'
import type { DriveCount, HealthCheck, HealthState } from './api.ts'

export interface LiveBody {
  readonly ok: boolean
  readonly status: string
}

export interface ReadyBody extends LiveBody {
  /** `ok` or what is to be known, by the ids of the contributed checks; `storage` is one of them. */
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
  live(): LiveBody
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

export function createProbes({ kernel, checks, drives, ports, log }: ProbesOptions): Probes {
  async function run(name: string, check: HealthCheck): Promise<HealthState> {
    let cancel: (() => void) | undefined
    const timeout = new Promise<HealthState>(resolve => {
      cancel = ports.clock.after(checkTimeoutMs, () => resolve({ ok: false, detail: 'no answer' }))
    })
    try {
      return await Promise.race([check(), timeout])
    } catch (error) {
      // The reason may name paths or hosts: it goes to the log, not to whoever asks.
      log.warn({ err: error, check: name }, 'health check failed')
      return { ok: false }
    } finally {
      cancel?.()
    }
  }

  async function countDrives(): Promise<DriveCount> {
    const counts: DriveCount[] = []
    for (const { id, value } of drives()) {
      try {
        counts.push(await value())
      } catch (error) {
        log.warn({ err: error, drives: id }, 'drives cannot be counted for the cluster probe')
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
    live: () => ({ ok: true, status: 'live' }),

    async ready() {
      const state = kernel.state()
      // Before its start a plugin cannot say how it is.
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
