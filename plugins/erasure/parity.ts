/** How many of a set's shards are parity. */

/** What is right for most: a drive may be lost from two on, two from four on. */
export function defaultParity(driveCount: number): number {
  if (driveCount <= 1) return 0
  if (driveCount <= 3) return 1
  if (driveCount <= 5) return 2
  if (driveCount <= 7) return 3
  return 4
}

/** Of what is kept with reduced redundancy. */
export const defaultReducedParity = 1

/** `EC:2`. Undefined for what is no such text. */
export function parseParity(text: string): number | undefined {
  const match = /^EC:(\d)$/.exec(text)
  return match === null ? undefined : Number(match[1])
}

/** How many drives must have a change before it is acknowledged: more than half of them in any case. */
export function writeQuorumOf(dataCount: number, parityCount: number): number {
  return dataCount === parityCount ? dataCount + 1 : dataCount
}
