/**
 * The first character of a blob's id says in which set it lies. Drives make ids that begin with the time, whose highest digit is 0 until
 * the year 3084; so all ids that a single set has made mean set 0. Within its set each blob has the id with 0.
 */

/** Alphabet of the ids that drives make. */
const digits = '0123456789abcdefghjkmnpqrstvwxyz'

/** Most sets of a storage: one for each digit. */
export const setsMax = digits.length

/** By character code; 255 for characters that are no digits. */
const numbers = new Uint8Array(128).fill(255)
for (let number = 0; number < digits.length; number++) numbers[digits.charCodeAt(number)] = number

/** The number of the set; 255 if this is no id. */
export function setOfBlob(id: string): number {
  return numbers[id.charCodeAt(0)] ?? 255
}

export function isElsewhere(id: string): boolean {
  return id.charCodeAt(0) !== 48
}

/** The id by which records refer to a blob of this set. */
export function blobIdFrom(idInSet: string, setNumber: number): string {
  return digits[setNumber]! + idInSet.slice(1)
}

/** The id that the blob has in its set. */
export function idInSet(blobId: string): string {
  return `0${blobId.slice(1)}`
}
