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
  const parityCount = parityOf(endpoints.length, parity)
  if (parityCount * 2 > endpoints.length) {
    problems.push(
      `SVC_STORAGE_CLASS_STANDARD=${parity} needs at least ${parityCount * 2} drives: parity is at most half of them.`,
    )
  }
  const reducedCount = reducedParityOf(reduced)
  // The default applies to every set, whatever its parity.
  if (reducedCount > Math.max(parityCount, defaultReducedParity)) {
    problems.push(
      `SVC_STORAGE_CLASS_RRS=${reduced} is more than the parity of a set of ${endpoints.length} drives, EC:${parityCount}.`,
    )
  }
  return problems
}

/** As configured; a set with less parity uses its own. */
export function reducedParityOf(reduced: string): number {
  return parseParity(reduced) ?? defaultReducedParity
}

export function parityOf(driveCount: number, parity: string): number {
  return parseParity(parity) ?? defaultParity(driveCount)
}
