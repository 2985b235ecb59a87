/** Profiles of the thread that it runs in, by the inspector of Node.js. */
import type { Session } from 'node:inspector/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallFrame,
  type CpuProfile,
  cpuSampleUs,
  type HeapProfile,
  heapSampleBytes,
  isOfProfiler,
} from './pprof.ts'

/** Functions that a report of delays names. */
const functionsMax = 10

export interface Delays {
  readonly thread: number
  /** Milliseconds by which a timer of the event loop came late. */
  readonly delayMs: { mean: number; p50: number; p90: number; p99: number; max: number }
  /** Share of the time in which the event loop did something: 0 to 1. */
  readonly utilization: number
  /** The functions with the longest run time, without their callees. */
  readonly functions: readonly { name: string; place: string; selfMs: number }[]
}

/** Loaded for the first profile: with it comes a client of HTTP and a terminal, some megabytes that most servers never need. */
const loadInspector = () => import('node:inspector/promises')

async function withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const { Session } = await loadInspector()
  const session = new Session()
  session.connect()
  try {
    return await work(session)
  } finally {
    session.disconnect()
  }
}

export function captureCpu(seconds: number): Promise<CpuProfile> {
  return withSession(async session => {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: cpuSampleUs })
    await session.post('Profiler.start')
    await sleep(seconds * 1000)
    const { profile } = await session.post('Profiler.stop')
    return profile as CpuProfile
  })
}

export function captureHeap(seconds: number): Promise<HeapProfile> {
  return withSession(async session => {
    await session.post('HeapProfiler.startSampling', { samplingInterval: heapSampleBytes })
    await sleep(seconds * 1000)
    const { profile } = await session.post('HeapProfiler.stopSampling')
    return profile as unknown as HeapProfile
  })
}

export async function captureDelays(thread: number, seconds: number): Promise<Delays> {
  await loadInspector()
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  const before = performance.eventLoopUtilization()
  histogram.enable()
  const profile = await captureCpu(seconds)
  histogram.disable()
  const { utilization } = performance.eventLoopUtilization(before)
  const milliseconds = (nanoseconds: number) => Math.round(nanoseconds / 1e3) / 1e3
  const at = (percentile: number) => milliseconds(histogram.percentile(percentile))
  const { mean, max } = histogram
  return {
    thread,
    delayMs: {
      mean: milliseconds(Number.isNaN(mean) ? 0 : mean),
      p50: at(50),
      p90: at(90),
      p99: at(99),
      max: milliseconds(max),
    },
    utilization: Math.round(utilization * 1e4) / 1e4,
    functions: longest(profile),
  }
}

function longest({ nodes, samples, timeDeltas }: CpuProfile): Delays['functions'] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const byPlace = new Map<string, { frame: CallFrame; us: number }>()
  for (const [i, id] of samples.entries()) {
    const frame = frames.get(id)!
    const place = `${frame.functionName} ${frame.url}:${frame.lineNumber}`
    const found = byPlace.get(place) ?? { frame, us: 0 }
    found.us += timeDeltas[i]!
    byPlace.set(place, found)
  }
  return [...byPlace.values()]
    .filter(({ frame }) => frame.functionName !== '(idle)' && !isOfProfiler(frame))
    .sort((a, b) => b.us - a.us)
    .slice(0, functionsMax)
    .map(({ frame: { functionName, url, lineNumber }, us }) => ({
      name: functionName || '(anonymous)',
      place: url === '' ? '' : `${url}:${lineNumber + 1}`,
      selfMs: Math.round(us / 10) / 100,
    }))
}
