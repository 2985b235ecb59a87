/**
 * Blob references: a *blob reference* is a blob of another set together with the group whose records refer to it, written as the blob's id
 * followed by the group. Each blob reference has one remote reference in the blob's set (see remote-references.ts). So
 * that set can count the data of each group, although the records lie in the record set.
 *
 * The *group* of a record is the part of its key from the second byte up to the first zero byte, such as the bucket.
 */
import { createHash } from 'node:crypto'

const idBytes = 26
/** A longer group, or one that looks like the special ones below, is replaced by its hash. */
const groupBytesMax = 200

/** Group of blobs from before there were groups: such a reference is shared by all records. */
export const noGroup = ''
/** Group of blobs whose writer does not say for which record they are. No record has it, so each needs a reference of its own. */
export const unknownGroup = '\x01'

/** Latin-1, without a zero byte. Keys whose first 202 bytes are equal have the same group. */
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
