/** Parity and quorums of a set. */

/** Default parity: one drive may be lost from two drives on, two from four on. */
export function defaultParity(driveCount: number): number {
  if (driveCount <= 1) return 0
  if (driveCount <= 3) return 1
  if (driveCount <= 5) return 2
  if (driveCount <= 7) return 3
  return 4
}

/** Parity of data with reduced redundancy. */
export const defaultReducedParity = 1

/** Parses `EC:0` to `EC:8`; undefined for any other text. */
export function parseParity(text: string): number | undefined {
  const match = /^EC:([0-8])$/.exec(text)
  return match === null ? undefined : Number(match[1])
}

/** How many drives must have a change before it is acknowledged: always more than half of them. */
export function writeQuorumOf(dataCount: number, parityCount: number): number {
  return dataCount === parityCount ? dataCount + 1 : dataCount
}
