/**
 * The key that encrypts has several names: its id, and ARNs of it. A policy is about the key, so that whoever names it otherwise
 * names the same one. Region and account of an ARN mean nothing here. Source: AWS KMS Developer Guide, "Key identifiers".
 */

export const kmsKeyIdCondition = 's3:x-amz-server-side-encryption-aws-kms-key-id'

const arn = 'arn:aws:kms:::key/'
/** As AWS has it, and as other servers and their clients shorten it: without region and account, and without `key/`. */
const beforeId = /^arn:aws[a-z-]*:kms:(?:[^:/]*:[^:/]*:)?(?:key\/)?/

/** The id in the ARN of a key; any other text as it is. */
export function kmsKeyIdOf(text: string): string {
  return text.replace(beforeId, '')
}

/** What a policy says of a key, in the form that `kmsKeySpellings` have. Wildcards may stand for any part, and for several. */
export function normalizeKmsKey(text: string): string {
  const fields = text.split(':')
  // `*` and `arn:*` are what they say; so is an id.
  if (fields[0]!.toLowerCase() !== 'arn' || fields.length < 4 || (fields.length === 4 && fields[3] === '*')) return text
  // One wildcard stands for several fields: the region, or the account and what follows it.
  if (fields.length === 5) return fields[3]!.includes('*') ? text : `arn:aws:kms::${fields[4]}`
  const id = fields.length === 4 ? fields[3]! : fields.slice(5).join(':')
  const isWhole = id.startsWith('key/') || /^(?:k|ke|key)?[*?]/.test(id)
  return isWhole && fields.length > 4 ? `arn:aws:kms:::${id}` : arn + id
}

/** A policy agrees with a key when it agrees with any of these. */
export function kmsKeySpellings(keyId: string): readonly string[] {
  return [keyId, arn + keyId]
}
