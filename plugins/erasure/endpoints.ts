/** Checks the endpoints and parities of a set, as they are configured. Used by `index.ts`. */
import { isAbsolute } from 'node:path'
import { setDrivesMax } from './api.ts'
import { defaultParity, defaultReducedParity, parseParity } from './parity.ts'

/** Problems as sentences; none if the endpoints are valid. */
export function validateEndpoints(endpoints: readonly string[], parity: string, reduced: string): string[] {
  const problems: string[] = []
  if (endpoints.length < 2) problems.push('A set has at least two drives. Name several folders, such as /mnt/d{1...4}.')
  if (endpoints.length > setDrivesMax) {
    problems.push(`A set has at most ${setDrivesMax} drives.`)
  }
  for (const path of endpoints) {
    if (!isAbsolute(path)) problems.push(`The drive path ${JSON.stringify(path)} is not absolute.`)
  }
  const twice = endpoints.find((path, index) => endpoints.indexOf(path) !== index)
  if (twice !== undefined) problems.push(`The drive ${twice} is named twice.`)
  problems.push(...checkParity(endpoints.length, parity))
  const parityCount = parityOf(endpoints.length, parity)
  const reducedCount = reducedParityOf(reduced)
  // The default applies to every set, whatever its parity.
  if (reducedCount > Math.max(parityCount, defaultReducedParity)) {
    problems.push(
      `SVC_STORAGE_CLASS_RRS=${reduced} is more than the parity of a set of ${endpoints.length} drives, EC:${parityCount}.`,
    )
  }
  return problems
}

/** Whether so many drives can have this parity of a set. */
export function checkParity(driveCount: number, parity: string): string[] {
  const least = parityOf(driveCount, parity) * 2
  if (least <= driveCount) return []
  return [`SVC_STORAGE_CLASS_STANDARD=${parity} needs at least ${least} drives: parity is at most half of them.`]
}

/** The configured parity; a set with less parity uses its own. */
export function reducedParityOf(reduced: string): number {
  return parseParity(reduced) ?? defaultReducedParity
}

export function parityOf(driveCount: number, parity: string): number {
  return parseParity(parity) ?? defaultParity(driveCount)
}
