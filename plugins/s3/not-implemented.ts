/**
 * Operations and headers of S3 that this server answers with 501 and the name of the missing plugin. Such a request must never be treated
 * as a PutObject or GetObject with an additional parameter. Source: the operations of the AWS S3 service model, August 2026, and of clients
 * that are known to probe others.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Level } from './api.ts'
import { s3Errors } from './errors.ts'
import { type KnownOperations, shippedOperations } from './shipped-operations.ts'

interface NotBuilt extends KnownOperations {
  /** Its name in the table of the README. */
  readonly feature: string
}

/**
 * The operations that no plugin implements yet, by the plugin that will. The 501 answers, docs/reference and the last column of the table
 * in the README come from this list.
 */
export const notBuilt: readonly NotBuilt[] = [
  {
    feature: 'attribute-based access control',
    plugin: 'abac',
    operations: [
      ['GetBucketAbac', 'GET /{bucket}?abac'],
      ['PutBucketAbac', 'PUT /{bucket}?abac'],
    ],
  },
  {
    feature: 'analytics',
    plugin: 'analytics',
    operations: [['PutBucketAnalyticsConfiguration', 'PUT /{bucket}?analytics']],
  },
  {
    feature: 'annotations',
    plugin: 'annotations',
    operations: [
      ['GetObjectAnnotation', 'GET /{bucket}/{key}?annotation'],
      ['PutObjectAnnotation', 'PUT /{bucket}/{key}?annotation'],
      ['DeleteObjectAnnotation', 'DELETE /{bucket}/{key}?annotation'],
      ['ListObjectAnnotations', 'GET /{bucket}/{key}?annotations'],
    ],
  },
  {
    feature: 'append',
    plugin: 'append',
    operations: [
      ['AppendObject', 'PUT /{bucket}/{key}?append'],
      ['AppendObject', 'POST /{bucket}/{key}?append'],
    ],
  },
  {
    feature: 'request metrics',
    plugin: 'bucket-metrics',
    operations: [['PutBucketMetricsConfiguration', 'PUT /{bucket}?metrics']],
  },
  {
    feature: 'directory buckets',
    plugin: 'directory-buckets',
    operations: [['CreateSession', 'GET /{bucket}?session']],
  },
  {
    feature: 'intelligent tiering',
    plugin: 'intelligent-tiering',
    operations: [['PutBucketIntelligentTieringConfiguration', 'PUT /{bucket}?intelligent-tiering']],
  },
  {
    feature: 'inventory',
    plugin: 'inventory',
    operations: [['PutBucketInventoryConfiguration', 'PUT /{bucket}?inventory']],
  },
  {
    feature: 'metadata tables',
    plugin: 'metadata-tables',
    operations: [
      ['UpdateBucketMetadataAnnotationTableConfiguration', 'PUT /{bucket}?metadataAnnotationTable'],
      ['GetBucketMetadataConfiguration', 'GET /{bucket}?metadataConfiguration'],
      ['CreateBucketMetadataConfiguration', 'POST /{bucket}?metadataConfiguration'],
      ['DeleteBucketMetadataConfiguration', 'DELETE /{bucket}?metadataConfiguration'],
      ['UpdateBucketMetadataInventoryTableConfiguration', 'PUT /{bucket}?metadataInventoryTable'],
      ['UpdateBucketMetadataJournalTableConfiguration', 'PUT /{bucket}?metadataJournalTable'],
      ['GetBucketMetadataTableConfiguration', 'GET /{bucket}?metadataTable'],
      ['CreateBucketMetadataTableConfiguration', 'POST /{bucket}?metadataTable'],
      ['DeleteBucketMetadataTableConfiguration', 'DELETE /{bucket}?metadataTable'],
    ],
  },
  {
    feature: 'listening for events',
    plugin: 'notify',
    operations: [
      ['ListenNotification', 'GET /{bucket}?events'],
      ['ListenNotification', 'GET /?events'],
    ],
  },
  {
    feature: 'replication',
    plugin: 'replication',
    operations: [['PutBucketReplication', 'PUT /{bucket}?replication']],
  },
  { feature: 'select', plugin: 'select', operations: [['SelectObjectContent', 'POST /{bucket}/{key}?select']] },
  { feature: 'restore', plugin: 'tier', operations: [['RestoreObject', 'POST /{bucket}/{key}?restore']] },
  { feature: 'website', plugin: 'website', operations: [['PutBucketWebsite', 'PUT /{bucket}?website']] },
]

export interface MissingOperation {
  /** The name on AWS; the parameter if AWS has no such operation. */
  readonly name: string
  readonly plugin: string
  /** Whether S3 has the parameter at this level and with this method. */
  readonly isExact: boolean
}

export interface KnownOperation {
  readonly name: string
  readonly plugin: string
  readonly level: Level
  readonly method: string
  /** Empty if level and method alone select the operation. */
  readonly parameter: string
}

/** The lists of this file and of shipped-operations.ts as one row per operation. */
export function rowsOf(groups: readonly KnownOperations[]): readonly KnownOperation[] {
  return groups.flatMap(({ plugin, operations }) =>
    operations.map(([name, request]) => {
      const [method, target] = request.split(' ') as [string, string]
      const [path, parameter = ''] = target.split('?') as [string, string?]
      const level = path === '/' ? 'service' : path === '/{bucket}' ? 'bucket' : 'object'
      return { name, plugin, level, method, parameter }
    }),
  )
}

const rows = rowsOf([...notBuilt, ...shippedOperations])
const byRequest = new Map(rows.map(row => [`${row.method} ${row.level} ${row.parameter}`, row]))
const byParameter = new Map(rows.toReversed().map(row => [row.parameter, row]))

/** The AWS operation of a parameter, or of level and method alone. Undefined if AWS has none, so the parameter is no known sub-resource. */
export function missingOperation(level: Level, method: string, parameter = ''): MissingOperation | undefined {
  const exact = byRequest.get(`${method} ${level} ${parameter}`)
  if (exact !== undefined) return { ...exact, isExact: true }
  if (parameter === '' || level === 'service') return undefined
  // The sub-resource exists, but not at this level or not with this method.
  const other = byParameter.get(parameter)
  return other && { name: parameter, plugin: other.plugin, isExact: false }
}

const subresourceName = /^[a-z][A-Za-z-]{2,}$/

/** Parameters that do not select an operation: clients also send them without a value (`?prefix=&delimiter=`). */
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
 * Whether an unknown parameter must be treated as a sub-resource: new sub-resources of AWS are parameters without a value. Parameters with
 * a value (`v=1`, `x-id=PutObject`, presigned ones) are ignored, as on AWS.
 */
export function looksLikeSubresource(parameter: string, value: string): boolean {
  return value === '' && subresourceName.test(parameter) && !parameter.startsWith('x-') && !modifiers.has(parameter)
}

interface Feature {
  readonly plugin: string
  /** Values that request nothing. */
  readonly harmless: readonly string[]
}

/** Request headers that request a feature, by lower-case name. */
const features: readonly (readonly [name: string, feature: Feature])[] = [
  ['x-amz-bucket-object-lock-enabled', { plugin: 'object-lock', harmless: ['false', 'False'] }],
  ['x-amz-copy-source-server-side-encryption-customer-algorithm', { plugin: 'encryption', harmless: [] }],
  ['x-amz-copy-source-server-side-encryption-customer-key', { plugin: 'encryption', harmless: [] }],
  ['x-amz-meta-snowball-auto-extract', { plugin: 'extract', harmless: ['false'] }],
  ['x-amz-object-lock-legal-hold', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-lock-mode', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-lock-retain-until-date', { plugin: 'object-lock', harmless: [] }],
  ['x-amz-object-ownership', { plugin: 'object-ownership', harmless: ['BucketOwnerEnforced'] }],
  ['x-amz-server-side-encryption', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-aws-kms-key-id', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-bucket-key-enabled', { plugin: 'encryption', harmless: ['false'] }],
  ['x-amz-server-side-encryption-context', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-algorithm', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-key', { plugin: 'encryption', harmless: [] }],
  ['x-amz-server-side-encryption-customer-key-md5', { plugin: 'encryption', harmless: [] }],
  ['x-amz-tagging', { plugin: 'tagging', harmless: [''] }],
  ['x-amz-write-offset-bytes', { plugin: 'append', harmless: [] }],
  ['x-minio-force-delete', { plugin: 'buckets', harmless: ['false'] }],
  ['x-svc-force-delete', { plugin: 'force-delete', harmless: ['false'] }],
]

/**
 * Throws NotImplemented for a header that requests a feature, unless the operation (`served`) or a loaded plugin (`contributed`) implements
 * it.
 */
export function refuseMissingFeature(
  headers: IncomingHttpHeaders,
  served: readonly string[] | undefined,
  contributed: ReadonlySet<string>,
): void {
  // Looking up these few headers is cheaper than a loop over all headers of the request.
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
