/**
 * The key that encrypts has several names: its id, and ARNs of it. A policy is about the key, so that whoever names it otherwise
 * names the same one. Region and account of an ARN mean nothing here. Source: AWS KMS Developer Guide, "Key identifiers".
 */

export const kmsKeyIdCondition = 's3:x-amz-server-side-encryption-aws-kms-key-id'

const arn = 'arn:aws:kms:::key/'
const fullArn = /^arn:aws[a-z-]*:kms:[^:/]*:[^:/]*:key\//

/** The id in the full ARN of a key; any other text as it is. */
export function kmsKeyIdOf(text: string): string {
  return text.replace(fullArn, '')
}

/** What a policy says of a key, in the form that `kmsKeySpellings` have: wildcards may stand for any part before the id. */
export function normalizeKmsKey(text: string): string {
  return text.replace(/^arn:[^/]*:key\//i, arn)
}

/** A policy agrees with a key when it agrees with any of these. */
export function kmsKeySpellings(keyId: string): readonly string[] {
  return [keyId, arn + keyId]
}
