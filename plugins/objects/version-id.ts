/**
 * Version ids: the sequence of the commit that made the version, as 14 hexadecimal digits. So ids sort by time, and the location
 * of a version follows from its id. Clients must not rely on either. The null version has the id `null`.
 */
import { objectErrors } from './errors.ts'

const digits = 14
/** Ids of other servers, in data that moved here and in what refers to it: well-formed, and never an id of ours. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** No commit comes so far. */
const sequenceOfNone = Number.MAX_SAFE_INTEGER

export function versionIdOf(sequence: number): string {
  return sequence.toString(16).padStart(digits, '0')
}

/** The sequence behind an id; undefined for `null`. Throws InvalidArgument for an invalid id. */
export function sequenceOfVersionId(versionId: string, argument = 'versionId'): number | undefined {
  if (versionId === 'null') return undefined
  if (uuid.test(versionId)) return sequenceOfNone
  const sequence = /^[0-9a-f]{14}$/.test(versionId) ? Number.parseInt(versionId, 16) : Number.NaN
  if (Number.isSafeInteger(sequence)) return sequence
  throw objectErrors.InvalidArgument('Invalid version id specified', {
    extra: { ArgumentName: argument, ArgumentValue: versionId },
  })
}
