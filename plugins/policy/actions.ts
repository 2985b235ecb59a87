/**
 * All actions that a policy can name: the table of the S3 and Admin actions, aliases that are evaluated as another action, and names that
 * are accepted so that policies from elsewhere can be imported unchanged, but have no effect here.
 */

/** The kind of resource that an action applies to: `none` is the server itself. */
export type ActionLevel = 'account' | 'bucket' | 'object' | 'none'

/** `fixed`: the operation always gives the same answer, but is authorized. `inert`: accepted in documents, matches no request. */
export type ActionStatus = 'active' | 'fixed' | 'inert'

export interface ActionRow {
  /** `s3:GetObject`. */
  readonly action: string
  readonly level: ActionLevel
  readonly status: ActionStatus
  /** What the action allows; completes "may". */
  readonly description: string
  /** An Admin action that may be requested for one bucket. */
  readonly isBucketScoped: boolean
  /** Such an action is needed without a bucket first, which only a statement for `*` allows: one for the bucket alone opens nothing. */
  readonly isOfServerToo: boolean
}

type Rows = readonly (readonly [name: string, description: string])[]

const account: Rows = [
  ['ListAllMyBuckets', 'list every bucket'],
  ['GetAccountPublicAccessBlock', 'read whether public access is blocked for every bucket'],
  ['PutAccountPublicAccessBlock', 'block public access for every bucket, or allow it'],
]

const bucket: Rows = [
  ['CreateBucket', 'create the bucket'],
  ['DeleteBucket', 'delete the empty bucket'],
  ['ForceDeleteBucket', 'delete the bucket with everything in it'],
  ['ListBucket', 'list objects; ask whether the bucket exists'],
  ['ListBucketVersions', 'list versions of objects'],
  ['ListBucketMultipartUploads', 'list uploads that are not complete'],
  ['GetBucketLocation', 'read the region'],
  ['GetBucketVersioning', 'read the state of versioning'],
  ['PutBucketVersioning', 'enable and suspend versioning'],
  ['GetBucketPolicy', 'read the bucket policy'],
  ['PutBucketPolicy', 'replace the bucket policy'],
  ['DeleteBucketPolicy', 'remove the bucket policy'],
  ['GetBucketPolicyStatus', 'read whether the bucket is public'],
  ['GetBucketPublicAccessBlock', 'read whether public access is blocked'],
  ['PutBucketPublicAccessBlock', 'block public access, or allow it'],
  ['GetBucketTagging', "read the bucket's tags"],
  ['PutBucketTagging', "replace and remove the bucket's tags"],
  ['GetBucketObjectLockConfiguration', 'read the default retention'],
  ['PutBucketObjectLockConfiguration', 'replace the default retention'],
  ['GetEncryptionConfiguration', 'read the default encryption'],
  ['PutEncryptionConfiguration', 'replace and remove the default encryption'],
  ['GetLifecycleConfiguration', 'read lifecycle rules'],
  ['PutLifecycleConfiguration', 'replace and remove lifecycle rules'],
  ['GetBucketNotification', 'read which events are notified'],
  ['PutBucketNotification', 'choose which events are notified'],
  ['GetBucketCORS', 'read CORS rules'],
  ['PutBucketCORS', 'replace and remove CORS rules'],
  ['GetBucketLogging', 'read where the access log of the bucket goes'],
  ['PutBucketLogging', 'turn the access log of the bucket on and off'],
  ['GetBucketAcl', 'read the access control list of the bucket'],
  ['PutBucketAcl', 'set the access control list of the bucket'],
  ['GetBucketOwnershipControls', 'read the object ownership'],
  ['PutBucketOwnershipControls', 'set the object ownership, which turns access control lists on and off'],
]

const object: Rows = [
  ['GetObject', 'read an object and its metadata'],
  ['GetObjectVersion', 'read a version of an object'],
  ['GetObjectAttributes', 'read size, checksum and parts of an object'],
  ['GetObjectVersionAttributes', 'read size, checksum and parts of a version'],
  ['PutObject', 'write an object, whole or in parts'],
  ['DeleteObject', 'delete an object, or hide it behind a delete marker'],
  ['DeleteObjectVersion', 'delete a version for good'],
  ['AbortMultipartUpload', 'abort an upload'],
  ['ListMultipartUploadParts', 'list the parts of an upload'],
  ['GetObjectTagging', "read an object's tags"],
  ['PutObjectTagging', "replace an object's tags"],
  ['DeleteObjectTagging', "remove an object's tags"],
  ['GetObjectVersionTagging', "read a version's tags"],
  ['PutObjectVersionTagging', "replace a version's tags"],
  ['DeleteObjectVersionTagging', "remove a version's tags"],
  ['GetObjectRetention', 'read how long a version is retained'],
  ['PutObjectRetention', 'retain a version'],
  ['BypassGovernanceRetention', 'shorten and ignore retention in governance mode'],
  ['GetObjectLegalHold', 'read whether a version is under legal hold'],
  ['PutObjectLegalHold', 'place and lift a legal hold'],
  ['GetObjectAcl', 'read the access control list of an object'],
  ['PutObjectAcl', 'set the access control list of an object'],
  ['GetObjectVersionAcl', 'read the access control list of a version'],
  ['PutObjectVersionAcl', 'set the access control list of a version'],
]

const fixedOfBucket: Rows = [
  ['GetBucketRequestPayment', 'read who pays'],
  ['PutBucketRequestPayment', 'set the payer that the bucket has in any case'],
  ['GetAccelerateConfiguration', 'read the state of acceleration'],
  ['PutAccelerateConfiguration', 'set the state of acceleration that the bucket has anyway'],
  ['GetBucketWebsite', 'read the website configuration'],
  ['PutBucketWebsite', 'replace the website configuration'],
  ['DeleteBucketWebsite', 'remove the website configuration'],
  ['GetReplicationConfiguration', 'read the replication configuration'],
  ['PutReplicationConfiguration', 'replace the replication configuration'],
]

const fixedOfObject: Rows = [['RestoreObject', 'restore an archived object']]

const admin: Rows = [
  ['ServerInfo', 'read server info, plugins and metrics'],
  ['DataUsageInfo', 'read usage'],
  ['Heal', 'start, follow and cancel heal jobs'],
  ['ServiceRestart', 'restart nodes'],
  ['ServiceStop', 'stop nodes'],
  ['Prometheus', 'read metrics, make tokens for scraping'],
  ['ServerTrace', 'follow requests live'],
  ['ConsoleLog', 'follow logs live, with an audit record of each request'],
  ['AuditLog', 'search the audit log'],
  ['Profiling', 'take profiles'],
  ['Speedtest', 'run speed tests'],
  ['GetBucketQuota', 'read the quota of the bucket'],
  ['SetBucketQuota', 'set the quota of the bucket'],
  ['ManageAccessRules', 'read and replace access rules, block public access of the bucket'],
  ['ListUsers', 'list users'],
  ['GetUser', 'read users and their permissions'],
  ['CreateUser', 'create users, describe them, set their secret keys; equal to all rights'],
  ['DeleteUser', 'delete users'],
  ['EnableUser', 'enable users'],
  ['DisableUser', 'disable users'],
  ['ListGroups', 'list groups'],
  ['GetGroup', 'read groups'],
  ['CreateGroup', 'create and describe groups'],
  ['DeleteGroup', 'delete groups'],
  ['EnableGroup', 'enable groups'],
  ['DisableGroup', 'disable groups'],
  ['AddUserToGroup', 'add members to groups; equal to all rights'],
  ['RemoveUserFromGroup', 'remove members from groups'],
  ['ListServiceAccounts', 'list access keys and shares of others'],
  ['CreateServiceAccount', 'create access keys for others; every user may create its own; equal to all rights'],
  ['UpdateServiceAccount', 'edit and rotate access keys of others; equal to all rights'],
  ['RemoveServiceAccount', 'delete access keys of others, revoke their shares'],
  ['ListUserPolicies', 'list named policies'],
  ['GetPolicy', 'read named policies'],
  ['CreatePolicy', 'create and replace named policies; equal to all rights'],
  ['DeletePolicy', 'delete named policies'],
  ['AttachUserOrGroupPolicy', 'attach policies to users and groups, and detach them; equal to all rights'],
  ['SimulatePolicy', 'simulate requests of others'],
  ['GetConfig', 'read the configuration with masked secrets'],
  ['ConfigUpdate', 'read and change the configuration, test notification targets'],
  ['ExportCluster', 'export the cluster archive and secrets of the configuration'],
  ['ImportCluster', 'import a cluster archive'],
  ['TopLocksInfo', 'list locks'],
  ['ForceUnlock', 'release locks'],
  ['KMSKeyStatus', 'read the state of the key server, list keys'],
  ['KMSCreateKey', 'create keys'],
  ['KMSReseal', 'rewrap data keys'],
  ['ManageDistributions', 'manage distributions, key groups and routing'],
  ['SignDistributionURL', 'sign URLs and cookies of distributions'],
  ['ManageCertificates', 'manage certificates and DNS providers'],
  ['ManageCache', 'manage cache settings, cache policies and purge webhooks'],
  ['InvalidateCache', 'invalidate and warm the cache'],
]

/** Admin actions on a bucket. Those on a distribution are requested for its origin bucket. */
const adminOfBucket = new Set(['GetBucketQuota', 'SetBucketQuota', 'ManageAccessRules'])
const adminOfOrigin = new Set(['ManageDistributions', 'SignDistributionURL', 'ManageCache', 'InvalidateCache'])

function rowsOf(rows: Rows, level: ActionLevel, status: ActionStatus = 'active'): ActionRow[] {
  return rows.map(([name, description]) => ({
    action: `s3:${name}`,
    level,
    status,
    description,
    isBucketScoped: false,
    isOfServerToo: false,
  }))
}

/** The catalogue, in the order of the reference. */
export const actionTable: readonly ActionRow[] = Object.freeze([
  ...rowsOf(account, 'account'),
  ...rowsOf(bucket, 'bucket'),
  ...rowsOf(object, 'object'),
  ...rowsOf(fixedOfBucket, 'bucket', 'fixed'),
  ...rowsOf(fixedOfObject, 'object', 'fixed'),
  ...admin.map(([name, description]) => ({
    action: `admin:${name}`,
    level: adminOfBucket.has(name) ? ('bucket' as const) : ('none' as const),
    status: 'active' as const,
    description,
    isBucketScoped: adminOfBucket.has(name) || adminOfOrigin.has(name),
    isOfServerToo: adminOfOrigin.has(name),
  })),
])

/** Aliases in lower case, each with the action as which it is evaluated. */
export const actionAliases: ReadonlyMap<string, string> = new Map([
  ['s3:headbucket', 's3:ListBucket'],
  ['s3:deletebucketcors', 's3:PutBucketCORS'],
  ['s3:getbucketencryption', 's3:GetEncryptionConfiguration'],
  ['s3:putbucketencryption', 's3:PutEncryptionConfiguration'],
  ['s3:getbucketlifecycle', 's3:GetLifecycleConfiguration'],
  ['s3:putbucketlifecycle', 's3:PutLifecycleConfiguration'],
  ['admin:storageinfo', 'admin:ServerInfo'],
  ['admin:obdinfo', 'admin:ServerInfo'],
  ['admin:bandwidthmonitor', 'admin:ServerInfo'],
  ['admin:updatepolicyassociation', 'admin:AttachUserOrGroupPolicy'],
])

/** Services without any action here: all of their names are accepted and have no effect. */
export const inertServices: ReadonlySet<string> = new Set(['s3express', 'kms', 'sts'])

/** Lower-case patterns of names that are accepted and match nothing. */
export const inertActions: readonly string[] = [
  's3:listennotification',
  's3:listenbucketnotification',
  's3:putobjectfanout',
  's3:replicateobject',
  's3:replicatedelete',
  's3:replicatetags',
  's3:getobjectversionforreplication',
  's3:resetbucketreplicationstate',
  's3:*inventoryconfiguration',
  's3:*analyticsconfiguration',
  's3:*metricsconfiguration',
  's3:*intelligenttieringconfiguration',
  's3:*bucketqos',
  'admin:decommission',
  'admin:rebalance',
  'admin:sitereplication*',
  'admin:settier',
  'admin:listtier',
  'admin:*batchjob*',
  'admin:setbuckettarget',
  'admin:getbuckettarget',
  'admin:replicationdiff',
  'admin:serverupdate',
  'admin:servicefreeze',
  'admin:servicecordon',
  'admin:inspectdata',
  'admin:licenseinfo',
  'admin:listtemporaryaccounts',
  'admin:importbucketmetadata',
  'admin:exportbucketmetadata',
  'admin:exportiam',
  'admin:importiam',
  'admin:inventorycontrol',
]
