/**
 * A key of the key management has several names: its id, and ARNs of it. A policy about the key must match whatever name a request uses.
 * Region and account of an ARN are ignored. Source: AWS KMS Developer Guide, "Key identifiers".
 */

export const kmsKeyIdCondition = 's3:x-amz-server-side-encryption-aws-kms-key-id'

const arn = 'arn:aws:kms:::key/'
/**
 * The part of an ARN before the id, as on AWS, and in the short forms of other servers and their clients: without region and account, and
 * without `key/`.
 */
const beforeId = /^arn:aws[a-z-]*:kms:(?:[^:/]*:[^:/]*:)?(?:key\/)?/

/** The id in the ARN of a key; other text unchanged. */
export function kmsKeyIdOf(text: string): string {
  return text.replace(beforeId, '')
}

/** The name of a key in a policy, in the form of `kmsKeySpellings`. A wildcard may stand for any part, or for several parts. */
export function normalizeKmsKey(text: string): string {
  const fields = text.split(':')
  // `*`, `arn:*` and ids stay as they are.
  if (fields[0]!.toLowerCase() !== 'arn' || fields.length < 4 || (fields.length === 4 && fields[3] === '*')) return text
  // A wildcard stands for several fields: the region, or the account and the fields after it.
  if (fields.length === 5) return fields[3]!.includes('*') ? text : `arn:aws:kms::${fields[4]}`
  const id = fields.length === 4 ? fields[3]! : fields.slice(5).join(':')
  const isWhole = id.startsWith('key/') || /^(?:k|ke|key)?[*?]/.test(id)
  return isWhole && fields.length > 4 ? `arn:aws:kms:::${id}` : arn + id
}

/** All spellings of a key: a policy matches the key if it matches any of them. */
export function kmsKeySpellings(keyId: string): readonly string[] {
  return [keyId, arn + keyId]
}
