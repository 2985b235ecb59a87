/** What a scenario works with: the options, the load generator, and the ways to start, measure and record. */
import type { LoadClient } from './load-client.ts'
import type { LoadLimits, LoadPlan, LoadResult } from './load-plan.ts'
import { cpuSeconds } from './machine.ts'
import type { FigureInput } from './report.ts'
import type { Credentials } from './signature.ts'
import type { Endpoint, ServerStart, ServerTarget, Target } from './targets.ts'

export interface Bench {
  readonly isQuick: boolean
  /** How many small objects or keys, where the scenario lets that be chosen; undefined = as many as it has by default. */
  readonly keyCount: number | undefined
  /** Likewise of the bytes of large objects. */
  readonly largeBytes: number | undefined
  /** Likewise of the time that the scenario takes. */
  readonly minutes: number | undefined
  /** SVC_WORKERS of the server; the servers that it is compared with get as many processes or threads, at least one. */
  readonly workers: number
  /** Empty folder on the drive to measure; removed afterwards. */
  readonly folder: string
  readonly load: LoadClient
  /** A server of somebody else, to measure beside this one; undefined where none is named. */
  readonly peer: (Target & Endpoint) | undefined
  /** Undefined when only the baselines are measured, and where the scenario starts what it measures. */
  readonly server: ServerTarget | undefined
  readonly isBaselineOnly: boolean
  /** Starts another server like this one, which ends with the scenario at the latest. */
  start(start: Omit<ServerStart, 'workers' | 'configFile'>): Promise<ServerTarget>
  /** For signing requests that go to baselines too. */
  readonly credentials: Credentials
  /** Host that signatures cover. */
  readonly signedHost: string
  record(figure: FigureInput): void
  say(progress: string): void
}

export interface Scenario {
  readonly name: string
  readonly summary: string
  /** Additional SVC_… variables of its server. */
  readonly environment?: Readonly<Record<string, string>>
  /** It measures a peer, and runs where one is named and then alone. */
  readonly needsPeer?: boolean
  /** It needs none, or others than one on a single drive. */
  readonly startsOwnServers?: boolean
  run(bench: Bench): Promise<void>
}

/** The number of the round that is not kept. */
export const warmUp = -1
/**
 * How long requests must run before they count: until V8 has compiled what is hot, which takes seconds on a busy machine and
 * costs CPU on threads of its own.
 */
export const warmUpMs = 8000

/** One measurement: quantities by name. */
export type Sample = Readonly<Record<string, number>>
export type Samples<Name extends string = string> = Readonly<Record<Name, readonly Sample[]>>

/**
 * Measures the contestants in turn (A, B, A, B, …), so that what else the machine does touches all alike. Round `warmUp` comes
 * first and is not kept.
 */
export async function alternate(
  roundCount: number,
  contestants: readonly Target[],
  measure: (target: Target, round: number) => Promise<Sample>,
): Promise<Samples> {
  const samples: Record<string, Sample[]> = {}
  for (const { name } of contestants) samples[name] = []
  for (let round = warmUp; round < roundCount; round++) {
    for (const target of contestants) {
      const sample = await measure(target, round)
      if (round !== warmUp) samples[target.name].push(sample)
    }
  }
  return samples
}

/** One quantity of all rounds; empty when there is no such contestant. */
export function column(samples: Samples, contestant: string, quantity: string): number[] {
  return (samples[contestant] ?? []).map(sample => sample[quantity])
}

/** Quotients round by round. */
export function ratios(numerators: readonly number[], denominators: readonly number[]): number[] {
  return numerators.slice(0, denominators.length).map((value, index) => value / denominators[index])
}

/** What all scenarios with many requests report of each contestant. */
export function recordRequests(bench: Bench, samples: Samples, label: string, cpuGoalMicros?: number): void {
  for (const subject of Object.keys(samples)) {
    const record = (quantity: string, unit: string, goal?: FigureInput['goal']): void => {
      const values = column(samples, subject, quantity)
      if (values.every(Number.isFinite))
        bench.record({ subject, name: `${label}: ${quantity}`, unit, samples: values, goal })
    }
    record('rate', 'requests/s')
    const hasGoal = subject === 'server' && cpuGoalMicros !== undefined
    record('CPU', 'µs/request', hasGoal ? { relation: '<=', value: cpuGoalMicros } : undefined)
    record('p50', 'ms')
    record('p99', 'ms')
    record('CPU of client', 'µs/request')
  }
}

/** Runs the prepared load against a target and relates the CPU of its processes to the requests. */
export async function measureRequests(bench: Bench, target: Target, limits: LoadLimits): Promise<Sample> {
  const { result, cpu } = await measureCpu(target, () => bench.load.run(limits))
  return {
    rate: result.requestCount / result.seconds,
    CPU: (cpu * 1e6) / result.requestCount,
    p50: result.p50Ms,
    p99: result.p99Ms,
    'CPU of client': (result.clientCpuSeconds * 1e6) / result.requestCount,
  }
}

/** CPU seconds that the target's processes used while `work` ran; NaN where they are not known. */
export async function measureCpu<T>(target: Target, work: () => Promise<T>): Promise<{ result: T; cpu: number }> {
  const pids = target.pids()
  const before = cpuSeconds(pids)
  const result = await work()
  return { result, cpu: pids.length === 0 ? Number.NaN : cpuSeconds(pids) - before }
}

/** A plan for a target, with what all plans have in common. A server that verifies signatures gets its own. */
export function planFor(
  bench: Bench,
  target: Target,
  plan: Pick<LoadPlan, 'method' | 'targets' | 'connectionCount'> & Partial<LoadPlan>,
): LoadPlan {
  const { host, port } = target
  const { credentials, signedHost } = isServer(target)
    ? { credentials: target.credentials, signedHost: `${host}:${port}` }
    : bench
  return {
    host,
    port,
    credentials,
    signedHost,
    bodySizeBytes: 0,
    receiveBufferBytes: 65_536,
    ...plan,
  }
}

function isServer(target: Target): target is Target & Endpoint {
  return 'credentials' in target
}

/** Sends each request of a plan once. */
export async function sendAll(bench: Bench, plan: LoadPlan, timeMsMax: number): Promise<LoadResult> {
  await bench.load.prepare(plan)
  const count = 'count' in plan.targets ? plan.targets.count : plan.targets.length
  const result = await bench.load.run({ requestCountMax: count, timeMsMax })
  if (result.requestCount !== count)
    throw new Error(`Only ${result.requestCount} of ${count} requests were sent in time.`)
  return result
}
