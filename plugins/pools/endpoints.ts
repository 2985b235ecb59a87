/** Cuts the pools that an operator named into sets, and checks them. Used by `index.ts`, `named-sets.ts` and `preflight.ts`. */
import { setDrivesMax } from 'svc/plugins/erasure/api'
import { setsMax } from './blob-ids.ts'

/** The folders of one set. */
export interface NamedSet {
  /** Position of its pool among the arguments. */
  readonly argument: number
  readonly paths: readonly string[]
}

/** The greatest size of a set that divides the drives of a pool; undefined if there is none. */
export function setSizeOf(driveCount: number): number | undefined {
  for (let size = Math.min(setDrivesMax, driveCount); size >= 2; size--) if (driveCount % size === 0) return size
  return undefined
}

/** Problems as sentences. */
export function poolProblems(pools: readonly (readonly string[])[]): string[] {
  const problems: string[] = []
  for (const paths of pools) {
    if (setSizeOf(paths.length) !== undefined) continue
    const [first, last] = [paths[0]!, paths.at(-1)!]
    if (paths.length === 1) problems.push(`The pool ${first} has one drive; a pool has at least two.`)
    else {
      problems.push(
        `The pool ${first} to ${last} has ${paths.length} drives, which cannot be cut into equal sets of 2 to ${setDrivesMax}. Name ${below(paths.length)} or ${above(paths.length)} drives.`,
      )
    }
  }
  if (problems.length > 0) return problems
  const count = cutPools(pools).length
  if (count > setsMax) problems.push(`The pools have ${count} sets; there may be ${setsMax}.`)
  return problems
}

/** Whether such a pool is cut into sets of at least 4 drives. */
function fits(driveCount: number): boolean {
  return (setSizeOf(driveCount) ?? 0) >= 4
}

function below(driveCount: number): number {
  let count = driveCount - 1
  while (!fits(count)) count--
  return count
}

function above(driveCount: number): number {
  let count = driveCount + 1
  while (!fits(count)) count++
  return count
}

/** In the order in which they were named. To be called if `poolProblems` found none. */
export function cutPools(pools: readonly (readonly string[])[]): NamedSet[] {
  return pools.flatMap((paths, argument) => {
    const size = setSizeOf(paths.length) ?? paths.length
    const sets: NamedSet[] = []
    for (let at = 0; at < paths.length; at += size) sets.push({ argument, paths: paths.slice(at, at + size) })
    return sets
  })
}
