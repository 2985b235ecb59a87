/**
 * Operations of bundled plugins: if a plugin is not loaded, its operations are answered with 501 and the name of the plugin. Operations
 * without a parameter are listed if level and method alone identify them.
 */

export interface KnownOperations {
  readonly plugin: string
  readonly operations: readonly (readonly [name: string, request: string])[]
}

export const shippedOperations: readonly KnownOperations[] = [
  {
    plugin: 'notify',
    operations: [
      ['GetBucketNotificationConfiguration', 'GET /{bucket}?notification'],
      ['PutBucketNotificationConfiguration', 'PUT /{bucket}?notification'],
    ],
  },
  {
    plugin: 'buckets',
    operations: [
      ['GetBucketLocation', 'GET /{bucket}?location'],
      ['GetBucketVersioning', 'GET /{bucket}?versioning'],
      ['PutBucketVersioning', 'PUT /{bucket}?versioning'],
      ['ListObjectVersions', 'GET /{bucket}?versions'],
    ],
  },
  {
    plugin: 'object-ownership',
    operations: [
      ['GetBucketAcl', 'GET /{bucket}?acl'],
      ['PutBucketAcl', 'PUT /{bucket}?acl'],
      ['GetObjectAcl', 'GET /{bucket}/{key}?acl'],
      ['PutObjectAcl', 'PUT /{bucket}/{key}?acl'],
      ['GetBucketOwnershipControls', 'GET /{bucket}?ownershipControls'],
      ['PutBucketOwnershipControls', 'PUT /{bucket}?ownershipControls'],
      ['DeleteBucketOwnershipControls', 'DELETE /{bucket}?ownershipControls'],
      ['GetPublicAccessBlock', 'GET /{bucket}?publicAccessBlock'],
      ['PutPublicAccessBlock', 'PUT /{bucket}?publicAccessBlock'],
      ['DeletePublicAccessBlock', 'DELETE /{bucket}?publicAccessBlock'],
    ],
  },
  {
    plugin: 'bucket-policy',
    operations: [
      ['GetBucketPolicy', 'GET /{bucket}?policy'],
      ['PutBucketPolicy', 'PUT /{bucket}?policy'],
      ['DeleteBucketPolicy', 'DELETE /{bucket}?policy'],
      ['GetBucketPolicyStatus', 'GET /{bucket}?policyStatus'],
    ],
  },
  {
    plugin: 'cors',
    operations: [
      ['Preflight', 'OPTIONS /{bucket}'],
      ['Preflight', 'OPTIONS /{bucket}/{key}'],
      ['GetBucketCors', 'GET /{bucket}?cors'],
      ['PutBucketCors', 'PUT /{bucket}?cors'],
      ['DeleteBucketCors', 'DELETE /{bucket}?cors'],
    ],
  },
  {
    plugin: 'encryption',
    operations: [
      ['GetBucketEncryption', 'GET /{bucket}?encryption'],
      ['PutBucketEncryption', 'PUT /{bucket}?encryption'],
      ['DeleteBucketEncryption', 'DELETE /{bucket}?encryption'],
      ['UpdateObjectEncryption', 'PUT /{bucket}/{key}?encryption'],
    ],
  },
  {
    plugin: 'bucket-logging',
    operations: [
      ['GetBucketLogging', 'GET /{bucket}?logging'],
      ['PutBucketLogging', 'PUT /{bucket}?logging'],
    ],
  },
  {
    plugin: 'bucket-subresources',
    operations: [
      ['GetBucketAccelerateConfiguration', 'GET /{bucket}?accelerate'],
      ['PutBucketAccelerateConfiguration', 'PUT /{bucket}?accelerate'],
      ['ListBucketAnalyticsConfigurations', 'GET /{bucket}?analytics'],
      ['DeleteBucketAnalyticsConfiguration', 'DELETE /{bucket}?analytics'],
      ['ListBucketIntelligentTieringConfigurations', 'GET /{bucket}?intelligent-tiering'],
      ['DeleteBucketIntelligentTieringConfiguration', 'DELETE /{bucket}?intelligent-tiering'],
      ['ListBucketInventoryConfigurations', 'GET /{bucket}?inventory'],
      ['DeleteBucketInventoryConfiguration', 'DELETE /{bucket}?inventory'],
      ['ListBucketMetricsConfigurations', 'GET /{bucket}?metrics'],
      ['DeleteBucketMetricsConfiguration', 'DELETE /{bucket}?metrics'],
      ['GetBucketReplication', 'GET /{bucket}?replication'],
      ['DeleteBucketReplication', 'DELETE /{bucket}?replication'],
      ['GetBucketRequestPayment', 'GET /{bucket}?requestPayment'],
      ['PutBucketRequestPayment', 'PUT /{bucket}?requestPayment'],
      ['GetObjectTorrent', 'GET /{bucket}/{key}?torrent'],
      ['GetBucketWebsite', 'GET /{bucket}?website'],
      ['DeleteBucketWebsite', 'DELETE /{bucket}?website'],
    ],
  },
  {
    plugin: 'lifecycle',
    operations: [
      ['GetBucketLifecycleConfiguration', 'GET /{bucket}?lifecycle'],
      ['PutBucketLifecycleConfiguration', 'PUT /{bucket}?lifecycle'],
      ['DeleteBucketLifecycle', 'DELETE /{bucket}?lifecycle'],
    ],
  },
  {
    plugin: 'multipart',
    operations: [
      ['ListParts', 'GET /{bucket}/{key}?uploadId'],
      ['UploadPart', 'PUT /{bucket}/{key}?uploadId'],
      ['CompleteMultipartUpload', 'POST /{bucket}/{key}?uploadId'],
      ['AbortMultipartUpload', 'DELETE /{bucket}/{key}?uploadId'],
      ['ListMultipartUploads', 'GET /{bucket}?uploads'],
      ['CreateMultipartUpload', 'POST /{bucket}/{key}?uploads'],
    ],
  },
  {
    plugin: 'object-lock',
    operations: [
      ['GetObjectLegalHold', 'GET /{bucket}/{key}?legal-hold'],
      ['PutObjectLegalHold', 'PUT /{bucket}/{key}?legal-hold'],
      ['GetObjectLockConfiguration', 'GET /{bucket}?object-lock'],
      ['PutObjectLockConfiguration', 'PUT /{bucket}?object-lock'],
      ['GetObjectRetention', 'GET /{bucket}/{key}?retention'],
      ['PutObjectRetention', 'PUT /{bucket}/{key}?retention'],
    ],
  },
  {
    plugin: 'object-operations',
    operations: [
      ['GetObjectAttributes', 'GET /{bucket}/{key}?attributes'],
      ['DeleteObjects', 'POST /{bucket}?delete'],
      ['RenameObject', 'PUT /{bucket}/{key}?renameObject'],
    ],
  },
  { plugin: 'post-object', operations: [['PostObject', 'POST /{bucket}']] },
  { plugin: 'sts', operations: [['AssumeRole', 'POST /']] },
  {
    plugin: 'tagging',
    operations: [
      ['GetBucketTagging', 'GET /{bucket}?tagging'],
      ['PutBucketTagging', 'PUT /{bucket}?tagging'],
      ['DeleteBucketTagging', 'DELETE /{bucket}?tagging'],
      ['GetObjectTagging', 'GET /{bucket}/{key}?tagging'],
      ['PutObjectTagging', 'PUT /{bucket}/{key}?tagging'],
      ['DeleteObjectTagging', 'DELETE /{bucket}/{key}?tagging'],
    ],
  },
]
