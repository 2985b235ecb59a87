/**
 * Sums up a .cpuprofile: how much time each function spent itself, and how much with everything that it called. Format:
 * Chrome DevTools Protocol, type Profiler.Profile (a call tree, and for each sample the node that was on top).
 */

export interface CallFrame {
  readonly functionName: string
  readonly url: string
  /** From 0. */
  readonly lineNumber: number
}

export interface ProfileNode {
  readonly id: number
  readonly callFrame: CallFrame
  readonly children?: readonly number[]
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** Microseconds on the monotonic clock, the same as `process.hrtime`. */
  readonly startTime: number
  readonly samples: readonly number[]
  /** Microseconds between a sample and the one before it (the first: after `startTime`). */
  readonly timeDeltas: readonly number[]
}

export interface FunctionCost {
  readonly name: string
  /** `file:line`, from 1; empty for what is not JavaScript. */
  readonly place: string
  selfMicros: number
  /** With callees; a recursive function counts once. */
  totalMicros: number
}

export interface ProfileSummary {
  /** By self time, largest first. Idle time is not among them. */
  readonly functions: readonly FunctionCost[]
  readonly busyMicros: number
  readonly idleMicros: number
}

/** Looks only at samples between two times of the monotonic clock (microseconds), to leave start-up and preparation out. */
export function summarizeProfile(profile: CpuProfile, fromMicros: number, toMicros: number): ProfileSummary {
  const selfOfNode = sumSamples(profile, fromMicros, toMicros)
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const functions = new Map<string, FunctionCost>()
  let idleMicros = 0

  // How often each function is on the path from the root: recursion must not count twice.
  const open = new Map<string, number>()
  /** Returns the busy time of the node and everything below it. */
  function enter(node: ProfileNode): number {
    const { functionName, url, lineNumber } = node.callFrame
    const key = `${functionName} ${url}:${lineNumber}`
    const self = selfOfNode.get(node.id) ?? 0
    if (functionName === '(idle)') {
      idleMicros += self
      return 0
    }
    let cost = functions.get(key)
    if (cost === undefined) {
      const place = url === '' ? '' : `${url.replace('file://', '')}:${lineNumber + 1}`
      cost = { name: functionName || '(anonymous)', place, selfMicros: 0, totalMicros: 0 }
      functions.set(key, cost)
    }
    cost.selfMicros += self
    const depth = open.get(key) ?? 0
    open.set(key, depth + 1)
    let subtreeMicros = self
    for (const child of node.children ?? []) subtreeMicros += enter(nodes.get(child)!)
    open.set(key, depth)
    if (depth === 0) cost.totalMicros += subtreeMicros
    return subtreeMicros
  }
  const root = profile.nodes.find(node => node.callFrame.functionName === '(root)')
  if (root === undefined) throw new Error('The profile has no root.')
  const busyMicros = enter(root)

  const sorted = [...functions.values()].sort((a, b) => b.selfMicros - a.selfMicros)
  return { functions: sorted, busyMicros, idleMicros }
}

/** Self time by node. */
function sumSamples(profile: CpuProfile, fromMicros: number, toMicros: number): Map<number, number> {
  const sums = new Map<number, number>()
  let time = profile.startTime
  for (let index = 0; index < profile.samples.length; index++) {
    // A sample stands for the time until the next one.
    time += profile.timeDeltas[index]
    if (time < fromMicros || time > toMicros) continue
    const id = profile.samples[index]
    sums.set(id, (sums.get(id) ?? 0) + (profile.timeDeltas[index + 1] ?? 0))
  }
  return sums
}

/** The same costs by a coarser name, such as the folder of a function. */
export function groupCosts(
  functions: readonly FunctionCost[],
  nameOf: (cost: FunctionCost) => string,
): [string, number][] {
  const groups = new Map<string, number>()
  for (const cost of functions) {
    const name = nameOf(cost)
    groups.set(name, (groups.get(name) ?? 0) + cost.selfMicros)
  }
  return [...groups].sort((a, b) => b[1] - a[1])
}
