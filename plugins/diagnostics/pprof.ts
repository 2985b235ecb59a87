/** Profiles of V8 as pprof, which other tools read: https://github.com/google/pprof/blob/main/proto/profile.proto */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Location, Sample } from 'pprof-format'

/** Time between two samples of the processor. */
export const cpuSampleUs = 1000
/** Bytes between two samples of the heap, on average. */
export const heapSampleBytes = 32 * 1024

export interface CallFrame {
  readonly functionName: string
  readonly url: string
  /** From 0; -1 where there is none. */
  readonly lineNumber: number
  readonly columnNumber: number
}

/** `Profiler.Profile` of the protocol of V8's inspector. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  /** Ids of nodes. */
  readonly samples: readonly number[]
  /** Microseconds before each of the samples. */
  readonly timeDeltas: readonly number[]
}

export interface HeapNode {
  readonly callFrame: CallFrame
  /** Bytes. */
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

/** `HeapProfiler.SamplingHeapProfile`. */
export interface HeapProfile {
  readonly head: HeapNode
}

export interface OfThread<Profile> {
  readonly thread: number
  readonly profile: Profile
}

/** A stack with the values measured at its end. The innermost frame comes first. */
interface Stack {
  readonly thread: number
  readonly frames: readonly CallFrame[]
  readonly values: readonly number[]
}

interface Kinds {
  /** Type and unit of each value: `cpu`, `nanoseconds`. */
  readonly values: readonly (readonly [type: string, unit: string])[]
  readonly period: number
}

export interface Span {
  readonly startMs: number
  readonly durationMs: number
}

/** Values: samples, nanoseconds. Idle time is left out, and the work of the profiler. */
export function cpuAsPprof(profiles: readonly OfThread<CpuProfile>[], span: Span): Promise<Buffer> {
  return encode(profiles.flatMap(cpuStacks), span, {
    values: [
      ['samples', 'count'],
      ['cpu', 'nanoseconds'],
    ],
    period: cpuSampleUs * 1000,
  })
}

/** Values: bytes that were taken and not given back. */
export function heapAsPprof(profiles: readonly OfThread<HeapProfile>[], span: Span): Promise<Buffer> {
  const stacks = profiles.flatMap(({ thread, profile }) => heapStacks(thread, profile.head, []))
  return encode(stacks, span, { values: [['inuse_space', 'bytes']], period: heapSampleBytes })
}

function cpuStacks({ thread, profile: { nodes, samples, timeDeltas } }: OfThread<CpuProfile>): Stack[] {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id] as const)))
  const measured = new Map<number, [count: number, us: number]>()
  for (const [i, id] of samples.entries()) {
    const found = measured.get(id) ?? [0, 0]
    measured.set(id, [found[0] + 1, found[1] + timeDeltas[i]!])
  }
  return [...measured].flatMap(([id, [count, us]]) => {
    const frames: CallFrame[] = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) frames.push(byId.get(at)!.callFrame)
    frames.pop()
    // What the profiler calls, such as the garbage collector, is its work, too.
    if (frames.length === 0 || frames[0]!.functionName === '(idle)' || frames.some(isOfProfiler)) return []
    // The clock of a machine may be set back.
    return [{ thread, frames, values: [count, Math.max(0, us) * 1000] }]
  })
}

/** Beginning and ending a profile took half a second of a server at rest, which is most of its profile: that is not what the server does. */
export const isOfProfiler = ({ url }: CallFrame): boolean =>
  url === 'node:inspector' || url === 'node:inspector/promises'

function heapStacks(thread: number, node: HeapNode, above: readonly CallFrame[]): Stack[] {
  const frames = node.callFrame.functionName === '(root)' ? above : [node.callFrame, ...above]
  const own = node.selfSize === 0 || frames.length === 0 ? [] : [{ thread, frames, values: [node.selfSize] }]
  return [...own, ...node.children.flatMap(child => heapStacks(thread, child, frames))]
}

async function encode(stacks: readonly Stack[], { startMs, durationMs }: Span, kinds: Kinds): Promise<Buffer> {
  const pprof = await import('pprof-format')
  const stringTable = new pprof.StringTable()
  const text = (value: string) => stringTable.dedup(value)
  const kindOf = ([type, unit]: readonly [string, string]) =>
    new pprof.ValueType({ type: text(type), unit: text(unit) })
  const locations = new Map<string, Location>()
  const functions = new Map<string, InstanceType<typeof pprof.Function>>()
  const locate = ({ functionName, url, lineNumber }: CallFrame): number => {
    const name = functionName || '(anonymous)'
    const ofFunction = `${name} ${url}`
    const ofLine = `${ofFunction}:${lineNumber}`
    let location = locations.get(ofLine)
    if (location === undefined) {
      let own = functions.get(ofFunction)
      if (own === undefined) {
        const id = functions.size + 1
        own = new pprof.Function({ id, name: text(name), systemName: text(name), filename: text(url) })
        functions.set(ofFunction, own)
      }
      const line = new pprof.Line({ functionId: own.id, line: Math.max(0, lineNumber + 1) })
      location = new pprof.Location({ id: locations.size + 1, line: [line] })
      locations.set(ofLine, location)
    }
    return Number(location.id)
  }
  const sample: Sample[] = stacks.map(
    ({ thread, frames, values }) =>
      new pprof.Sample({
        locationId: frames.map(locate),
        value: [...values],
        label: [new pprof.Label({ key: text('thread'), str: text(String(thread)) })],
      }),
  )
  const profile = new pprof.Profile({
    sampleType: kinds.values.map(kindOf),
    sample,
    location: [...locations.values()],
    function: [...functions.values()],
    stringTable,
    timeNanos: BigInt(Math.round(startMs)) * 1_000_000n,
    durationNanos: BigInt(Math.round(durationMs)) * 1_000_000n,
    periodType: kindOf(kinds.values.at(-1)!),
    period: kinds.period,
  })
  return promisify(gzip)(profile.encode())
}
