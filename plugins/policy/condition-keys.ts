/**
 * The condition keys: their types, and the actions whose requests have them. One table, for the compiler, the action catalogue and the
 * reference. A key that ends in `/` or `:` stands for every key with that prefix.
 */

export type ConditionKeyType = 'string' | 'bool' | 'numeric' | 'date' | 'ip' | 'arn'

export interface ConditionKey {
  /** As written in documents: `aws:SourceIp`. */
  readonly name: string
  readonly type: ConditionKeyType
  /** A request can have several values of the key. */
  readonly isList: boolean
  /** Lower-case actions; undefined: every action. */
  readonly actions: ReadonlySet<string> | undefined
  /** AWS has the key, but it has no meaning here: no request ever has a value of it. */
  readonly isAbsent: boolean
}

const putObject = ['PutObject']
const lists = ['ListBucket', 'ListBucketVersions', 'ListBucketMultipartUploads']
const plainLists = ['ListBucket', 'ListBucketVersions']
const versions = [
  'GetObjectVersion',
  'GetObjectVersionAttributes',
  'DeleteObjectVersion',
  'GetObjectVersionTagging',
  'PutObjectVersionTagging',
  'DeleteObjectVersionTagging',
  'GetObjectVersionAcl',
  'PutObjectVersionAcl',
]
const acls = ['PutObject', 'PutObjectAcl', 'PutObjectVersionAcl', 'PutBucketAcl', 'CreateBucket']
const locks = ['PutObject', 'PutObjectRetention', 'PutObjectLegalHold', 'BypassGovernanceRetention']
const existingTags = [
  // The tags of the object that is overwritten. AWS has no such value for this action; here a condition on it is evaluated.
  'PutObject',
  'GetObject',
  'GetObjectVersion',
  'GetObjectAttributes',
  'GetObjectVersionAttributes',
  'DeleteObject',
  'DeleteObjectVersion',
  'GetObjectTagging',
  'PutObjectTagging',
  'DeleteObjectTagging',
  'GetObjectVersionTagging',
  'PutObjectVersionTagging',
  'DeleteObjectVersionTagging',
]
const requestTags = ['PutObject', 'PutObjectTagging', 'PutObjectVersionTagging']

const rows: readonly (readonly [
  name: string,
  type: ConditionKeyType,
  s3Actions?: readonly string[],
  isList?: 'list',
])[] = [
  ['aws:SourceIp', 'ip'],
  ['aws:SecureTransport', 'bool'],
  ['aws:CurrentTime', 'date'],
  ['aws:EpochTime', 'numeric'],
  ['aws:Referer', 'string'],
  ['aws:UserAgent', 'string'],
  ['aws:username', 'string'],
  ['aws:userid', 'string'],
  ['aws:PrincipalType', 'string'],
  ['aws:PrincipalArn', 'arn'],
  ['aws:groups', 'string', undefined, 'list'],
  ['s3:authType', 'string'],
  ['s3:signatureversion', 'string'],
  ['s3:signatureAge', 'numeric'],
  ['s3:TlsVersion', 'numeric'],
  ['s3:x-amz-content-sha256', 'string'],
  ['s3:prefix', 'string', lists],
  ['s3:delimiter', 'string', lists],
  ['s3:max-keys', 'numeric', plainLists],
  ['s3:versionid', 'string', versions],
  ['s3:LocationConstraint', 'string', ['CreateBucket']],
  ['s3:x-amz-acl', 'string', acls],
  ['s3:x-amz-grant-full-control', 'string', acls],
  ['s3:x-amz-grant-read', 'string', acls],
  ['s3:x-amz-grant-read-acp', 'string', acls],
  ['s3:x-amz-grant-write', 'string', acls],
  ['s3:x-amz-grant-write-acp', 'string', acls],
  ['s3:x-amz-copy-source', 'string', putObject],
  ['s3:x-amz-metadata-directive', 'string', putObject],
  ['s3:x-amz-storage-class', 'string', putObject],
  ['s3:x-amz-server-side-encryption', 'string', putObject],
  ['s3:x-amz-server-side-encryption-aws-kms-key-id', 'string', [...putObject, 'UpdateObjectEncryption']],
  ['s3:x-amz-server-side-encryption-customer-algorithm', 'string', putObject],
  ['s3:if-match', 'string', putObject],
  ['s3:if-none-match', 'string', putObject],
  ['s3:ObjectCreationOperation', 'bool', putObject],
  ['s3:object-lock-mode', 'string', locks],
  ['s3:object-lock-retain-until-date', 'date', locks],
  ['s3:object-lock-remaining-retention-days', 'numeric', locks],
  ['s3:object-lock-legal-hold', 'string', locks],
  ['s3:ExistingObjectTag/', 'string', existingTags],
  ['s3:RequestObjectTag/', 'string', requestTags],
  ['s3:RequestObjectTagKeys', 'string', requestTags, 'list'],
  ['svc:distribution', 'string'],
  ['svc:host', 'string'],
  ['jwt:', 'string'],
  ['ldap:', 'string'],
]

const absent: readonly (readonly [name: string, type: ConditionKeyType])[] = [
  ['aws:SourceVpc', 'string'],
  ['aws:SourceVpce', 'string'],
  ['aws:SourceArn', 'arn'],
  ['aws:SourceAccount', 'string'],
  ['aws:PrincipalOrgID', 'string'],
  ['aws:PrincipalTag/', 'string'],
  ['aws:ResourceTag/', 'string'],
  ['aws:MultiFactorAuthPresent', 'bool'],
  ['aws:MultiFactorAuthAge', 'numeric'],
  ['s3:ResourceAccount', 'string'],
]

/** Every key, in the order of the reference. */
export const conditionKeys: readonly ConditionKey[] = Object.freeze([
  ...rows.map(([name, type, actions, list]) => ({
    name,
    type,
    isList: list === 'list',
    actions: actions === undefined ? undefined : new Set(actions.map(action => `s3:${action.toLowerCase()}`)),
    isAbsent: false,
  })),
  ...absent.map(([name, type]) => ({ name, type, isList: false, actions: undefined, isAbsent: true })),
])

const exact = new Map<string, ConditionKey>()
const families = new Map<string, ConditionKey>()
for (const key of conditionKeys) {
  const isFamily = key.name.endsWith('/') || key.name.endsWith(':')
  ;(isFamily ? families : exact).set(key.name.toLowerCase(), key)
}

/** The key with this lower-case name; undefined for an unknown name. */
export function findConditionKey(name: string): ConditionKey | undefined {
  const found = exact.get(name)
  if (found !== undefined) return found
  const cut = name.search(/[/]|^(?:jwt|ldap):/)
  if (cut < 0) return undefined
  const prefix = name.slice(0, cut === 0 ? name.indexOf(':') + 1 : cut + 1)
  return name.length > prefix.length ? families.get(prefix) : undefined
}

/** Names of the keys that a request with this action can have: `<key>` stands for the key of a tag or a claim. */
export function conditionKeysOf(action: string): readonly string[] {
  const lowerCase = action.toLowerCase()
  const isS3 = lowerCase.startsWith('s3:')
  return conditionKeys
    .filter(
      key =>
        !key.isAbsent && (key.actions === undefined ? isS3 || !key.name.startsWith('s3:') : key.actions.has(lowerCase)),
    )
    .map(({ name }) => (name.endsWith('/') ? `${name}<key>` : name.endsWith(':') ? `${name}<claim>` : name))
}
