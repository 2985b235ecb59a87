/** What a set may be made of. */
import { isAbsolute } from 'node:path'
import { setDrivesMax } from './api.ts'
import { defaultParity, defaultReducedParity, parseParity } from './parity.ts'

/** Problems as sentences; none where the endpoints are fine. */
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
  // The default is for every set.
  if (reducedCount > Math.max(parityCount, defaultReducedParity)) {
    problems.push(
      `SVC_STORAGE_CLASS_RRS=${reduced} is more than the parity of a set of ${endpoints.length} drives, EC:${parityCount}.`,
    )
  }
  return problems
}

/** Of a set; less where the set has less. */
export function reducedParityOf(reduced: string): number {
  return parseParity(reduced) ?? defaultReducedParity
}

export function parityOf(driveCount: number, parity: string): number {
  return parseParity(parity) ?? defaultParity(driveCount)
}
