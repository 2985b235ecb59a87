/**
 * What S3 knows and no loaded operation serves. A request for it is answered 501 with the operation's name and the plugin
 * that provides it; it must never be taken for a plain PutObject or GetObject that happens to have a parameter.
 * Source: the operations of the AWS S3 service model, August 2026, and of clients that are known to probe others.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Level } from './api.ts'
import { s3Errors } from './errors.ts'

export interface UnloadedOperation {
  readonly operation: string
  readonly plugin: string
  /** Whether S3 has it with that method, and not only something else of that name. */
  readonly isExact?: boolean
}

/** parameter, plugin, then `METHOD=Operation` for buckets and, behind `|`, for objects. */
const rows: readonly (readonly [parameter: string, plugin: string, operations: string])[] = [
  ['abac', 'abac', 'GET=GetBucketAbac PUT=PutBucketAbac'],
  ['accelerate', 'accelerate', 'GET=GetBucketAccelerateConfiguration PUT=PutBucketAccelerateConfiguration'],
  ['acl', 'object-ownership', 'GET=GetBucketAcl PUT=PutBucketAcl | GET=GetObjectAcl PUT=PutObjectAcl'],
  [
    'analytics',
    'analytics',
    'GET=ListBucketAnalyticsConfigurations PUT=PutBucketAnalyticsConfiguration DELETE=DeleteBucketAnalyticsConfiguration',
  ],
  ['annotation', 'annotations', '| GET=GetObjectAnnotation PUT=PutObjectAnnotation DELETE=DeleteObjectAnnotation'],
  ['annotations', 'annotations', '| GET=ListObjectAnnotations'],
  ['append', 'append', '| PUT=AppendObject POST=AppendObject'],
  ['attributes', 'object-operations', '| GET=GetObjectAttributes'],
  ['cors', 'cors', 'GET=GetBucketCors PUT=PutBucketCors DELETE=DeleteBucketCors'],
  ['delete', 'object-operations', 'POST=DeleteObjects'],
  [
    'encryption',
    'encryption',
    'GET=GetBucketEncryption PUT=PutBucketEncryption DELETE=DeleteBucketEncryption | PUT=UpdateObjectEncryption',
  ],
  ['events', 'notify', 'GET=ListenNotification'],
  [
    'intelligent-tiering',
    'intelligent-tiering',
    'GET=ListBucketIntelligentTieringConfigurations PUT=PutBucketIntelligentTieringConfiguration DELETE=DeleteBucketIntelligentTieringConfiguration',
  ],
  [
    'inventory',
    'inventory',
    'GET=ListBucketInventoryConfigurations PUT=PutBucketInventoryConfiguration DELETE=DeleteBucketInventoryConfiguration',
  ],
  ['legal-hold', 'object-lock', '| GET=GetObjectLegalHold PUT=PutObjectLegalHold'],
  [
    'lifecycle',
    'lifecycle',
    'GET=GetBucketLifecycleConfiguration PUT=PutBucketLifecycleConfiguration DELETE=DeleteBucketLifecycle',
  ],
  ['location', 'buckets', 'GET=GetBucketLocation'],
  ['logging', 'access-log', 'GET=GetBucketLogging PUT=PutBucketLogging'],
  ['metadataAnnotationTable', 'metadata-tables', 'PUT=UpdateBucketMetadataAnnotationTableConfiguration'],
  [
    'metadataConfiguration',
    'metadata-tables',
    'GET=GetBucketMetadataConfiguration POST=CreateBucketMetadataConfiguration DELETE=DeleteBucketMetadataConfiguration',
  ],
  ['metadataInventoryTable', 'metadata-tables', 'PUT=UpdateBucketMetadataInventoryTableConfiguration'],
  ['metadataJournalTable', 'metadata-tables', 'PUT=UpdateBucketMetadataJournalTableConfiguration'],
  [
    'metadataTable',
    'metadata-tables',
    'GET=GetBucketMetadataTableConfiguration POST=CreateBucketMetadataTableConfiguration DELETE=DeleteBucketMetadataTableConfiguration',
  ],
  [
    'metrics',
    'bucket-metrics',
    'GET=ListBucketMetricsConfigurations PUT=PutBucketMetricsConfiguration DELETE=DeleteBucketMetricsConfiguration',
  ],
  ['notification', 'notify', 'GET=GetBucketNotificationConfiguration PUT=PutBucketNotificationConfiguration'],
  ['object-lock', 'object-lock', 'GET=GetObjectLockConfiguration PUT=PutObjectLockConfiguration'],
  [
    'ownershipControls',
    'object-ownership',
    'GET=GetBucketOwnershipControls PUT=PutBucketOwnershipControls DELETE=DeleteBucketOwnershipControls',
  ],
  ['policy', 'bucket-policy', 'GET=GetBucketPolicy PUT=PutBucketPolicy DELETE=DeleteBucketPolicy'],
  ['policyStatus', 'bucket-policy', 'GET=GetBucketPolicyStatus'],
  [
    'publicAccessBlock',
    'object-ownership',
    'GET=GetPublicAccessBlock PUT=PutPublicAccessBlock DELETE=DeletePublicAccessBlock',
  ],
  ['renameObject', 'object-operations', '| PUT=RenameObject'],
  ['replication', 'replication', 'GET=GetBucketReplication PUT=PutBucketReplication DELETE=DeleteBucketReplication'],
  ['requestPayment', 'request-payment', 'GET=GetBucketRequestPayment PUT=PutBucketRequestPayment'],
  ['restore', 'tier', '| POST=RestoreObject'],
  ['retention', 'object-lock', '| GET=GetObjectRetention PUT=PutObjectRetention'],
  ['select', 'select', '| POST=SelectObjectContent'],
  ['session', 'directory-buckets', 'GET=CreateSession'],
  [
    'tagging',
    'tagging',
    'GET=GetBucketTagging PUT=PutBucketTagging DELETE=DeleteBucketTagging | GET=GetObjectTagging PUT=PutObjectTagging DELETE=DeleteObjectTagging',
  ],
  ['torrent', 'torrent', '| GET=GetObjectTorrent'],
  ['uploadId', 'multipart', '| GET=ListParts PUT=UploadPart POST=CompleteMultipartUpload DELETE=AbortMultipartUpload'],
  ['uploads', 'multipart', 'GET=ListMultipartUploads | POST=CreateMultipartUpload'],
  ['versioning', 'buckets', 'GET=GetBucketVersioning PUT=PutBucketVersioning'],
  ['versions', 'buckets', 'GET=ListObjectVersions'],
  ['website', 'website', 'GET=GetBucketWebsite PUT=PutBucketWebsite DELETE=DeleteBucketWebsite'],
]

interface Known {
  readonly plugin: string
  readonly bucket: ReadonlyMap<string, string>
  readonly object: ReadonlyMap<string, string>
}

const known: ReadonlyMap<string, Known> = new Map(
  rows.map(([parameter, plugin, operations]) => {
    const [bucket = '', object = ''] = operations.split('|')
    return [parameter, { plugin, bucket: parse(bucket), object: parse(object) }]
  }),
)

function parse(operations: string): ReadonlyMap<string, string> {
  const pairs = operations.split(' ').filter(pair => pair !== '')
  return new Map(pairs.map(pair => pair.split('=') as [string, string]))
}

/** What AWS calls the operation behind a parameter, or undefined when the parameter is no sub-resource that we know. */
export function unloadedSubresource(level: Level, method: string, parameter: string): UnloadedOperation | undefined {
  const entry = known.get(parameter)
  if (entry === undefined || level === 'service') return undefined
  const operations = level === 'bucket' ? entry.bucket : entry.object
  // The sub-resource exists, but not here or not with this method: its name is then the best that can be told.
  const operation = operations.get(method)
  return { operation: operation ?? parameter, plugin: entry.plugin, isExact: operation !== undefined }
}

export interface UnloadedRow extends UnloadedOperation {
  readonly level: Level
  readonly method: string
  readonly parameter: string
}

/** Everything of the table above, for the reference. Operations of loaded plugins are among them. */
export function describeUnloaded(): readonly UnloadedRow[] {
  return [...known].flatMap(([parameter, { plugin, bucket, object }]) => [
    ...[...bucket].map(([method, operation]) => ({ level: 'bucket' as const, method, parameter, operation, plugin })),
    ...[...object].map(([method, operation]) => ({ level: 'object' as const, method, parameter, operation, plugin })),
  ])
}

/** Operations that have no parameter of their own, by `METHOD level`. */
const plain: Readonly<Record<string, UnloadedOperation>> = {
  'POST service': { operation: 'AssumeRole', plugin: 'sts' },
  'POST bucket': { operation: 'PostObject', plugin: 'post-object' },
  'OPTIONS bucket': { operation: 'Preflight', plugin: 'cors' },
  'OPTIONS object': { operation: 'Preflight', plugin: 'cors' },
}

export function unloadedPlain(level: Level, method: string): UnloadedOperation | undefined {
  return plain[`${method} ${level}`]
}

const subresourceName = /^[a-z][A-Za-z-]{2,}$/

/** Parameters that only say how: clients send them without a value, too (`?prefix=&delimiter=`). */
const modifiers = new Set([
  'bucket-region',
  'continuation-token',
  'delimiter',
  'encoding-type',
  'fetch-owner',
  'key-marker',
  'marker',
  'max-buckets',
  'max-keys',
  'max-parts',
  'max-uploads',
  'part-number-marker',
  'prefix',
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
  'start-after',
  'upload-id-marker',
  'version-id-marker',
  'versionId',
])

/**
 * Whether a parameter that nobody knows must be taken for a sub-resource: AWS makes new ones as a bare word. Parameters
 * with a value (`v=1`, `x-id=PutObject`, presigned ones) are harmless, as on AWS.
 */
export function looksLikeSubresource(parameter: string, value: string): boolean {
  return value === '' && subresourceName.test(parameter) && !parameter.startsWith('x-') && !modifiers.has(parameter)
}

interface Feature {
  readonly plugin: string
  /** Values that ask for nothing. */
  readonly harmless: readonly string[]
}

/** Request headers that ask for a feature, by lower-case name. */
const features: readonly (readonly [name: string, feature: Feature])[] = [
  ['x-amz-bucket-object-lock-enabled', { plugin: 'object-lock', harmless: ['false', 'False'] }],
  ['x-amz-copy-source-server-side-encryption-customer-algorithm', { plugin: 'encryption', harmless: [] }],
  ['x-amz-copy-source-server-side-encryption-customer-key', { plugin: 'encryption', harmless: [] }],
  ['x-amz-meta-snowball-auto-extract', { plugin: 'extract', harmless: ['false'] }],
  ['x-amz-object-lock-legal-hold', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-lock-mode', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-lock-retain-until-date', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-ownership', { plugin: 'acl', harmless: ['BucketOwnerEnforced'] }],
  ['x-amz-server-side-encryption', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-aws-kms-key-id', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-bucket-key-enabled', { plugin: 'encryption', harmless: ['false'] }],
  ['x-amz-server-side-encryption-context', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-algorithm', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-key', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-key-md5', { plugin: 'encryption', harmless: [] }],
  ['x-amz-tagging', { plugin: 'tagging', harmless: [''] }],
  ['x-amz-write-offset-bytes', { plugin: 'append', harmless: [] }],
  ['x-minio-force-delete', { plugin: 'force-delete', harmless: ['false'] }],
  ['x-svc-force-delete', { plugin: 'force-delete', harmless: ['false'] }],
]

/** Throws NotImplemented for a header that asks for what no loaded plugin does, except those that the operation or an attribute serves. */
export function refuseUnloadedFeature(
  headers: IncomingHttpHeaders,
  served: readonly string[] | undefined,
  contributed: ReadonlySet<string>,
): void {
  // Looking for these few is cheaper than walking through all that came.
  for (const [header, { plugin, harmless }] of features) {
    const value = headers[header]
    if (value === undefined || harmless.includes(String(value)) || served?.includes(header)) continue
    if (contributed.has(header)) continue
    throw s3Errors.NotImplemented(
      `The header ${header} asks for a feature of the plugin "${plugin}", which is not loaded.`,
      { extra: { Header: header, Plugin: plugin } },
    )
  }
}
