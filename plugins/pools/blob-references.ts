/**
 * A reference: records of one group refer to a blob of another set. It is the blob's id followed by the group, and there is one remote reference for each
 * (see remote references.ts). So a set counts for each group what it has of it, exactly, although the records lie in another.
 *
 * The group of a record is what its table is divided by, such as the bucket: its key from the second byte up to the first zero byte.
 */
import { createHash } from 'node:crypto'

const idBytes = 26
/** A longer one, or one that could be taken for those below, is known by its hash. */
const groupBytesMax = 200

/** Of blobs that were referred to before there were groups: kept by every record that refers to them. */
export const noGroup = ''
/** Of blobs of which it is not known for whom they are written. No record has this group, so that each wants a reference of its own. */
export const unknownGroup = '\x01'

/** Latin-1, without a zero byte. The same for keys that have their first 202 bytes in common. */
export function groupOf(recordKey: Buffer): string {
  const end = recordKey.indexOf(0, 1)
  const group = recordKey.subarray(1, end === -1 ? undefined : end)
  if (group.length <= groupBytesMax && group[0]! > 1) return group.latin1Slice()
  return createHash('sha256')
    .update(group.subarray(0, groupBytesMax + 1))
    .digest('hex')
}

export function blobReferenceOf(blobId: string, group: string): string {
  return blobId + group
}

export function blobOfReference(reference: string): string {
  return reference.slice(0, idBytes)
}

export function groupOfReference(reference: string): string {
  return reference.slice(idBytes)
}
