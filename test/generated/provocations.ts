/**
 * How each error that an operation declares comes about: requests, each made in a place where everything else would succeed. What is
 * the same for many operations (a bucket, a key, a version that is not there, a document that cannot be read) follows from their
 * declarations; the rest is written down here, by operation and code.
 */
import { createHash } from 'node:crypto'
import { signPolicy } from 'svc/plugins/auth-sigv4/api'
import type { S3Operation } from 'svc/plugins/s3/api'
import { accessKey, region, secretKey } from '../wire/server.ts'

/** What is sent, beside what the operation's declaration says of it. */
export interface Change {
  readonly bucket?: string
  readonly key?: string
  /** Percent-encoded parameters beside those that select the operation. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The head alone, with this length: nobody waits for a body that is refused by its length. */
  readonly announcedBytes?: number
  /** Without a length: in chunks. */
  readonly isChunked?: boolean
}

/** What the tests prepare. */
export interface Place {
  /** Without versions, with the objects `key` and `tagged`, and the uploads below. */
  readonly plain: string
  /** With object lock and without ownership controls: `key`, `locked` (until far in the future, in COMPLIANCE mode) and `marker`, which a delete marker hides. */
  readonly locked: string
  /** With access control lists, public-read. Public ones are refused. */
  readonly lists: string
  /** Not there. */
  readonly missing: string
  readonly lockedVersion: string
  readonly markerVersion: string
  /** Of `key` in `plain`, with part 1 of `partEtag`. */
  readonly uploadId: string
  readonly partEtag: string
  /** Of `key` in `plain`, with two parts of a few bytes. */
  readonly smallUploadId: string
  /** Of `unborn` in `plain`, which is no object yet, with part 1. */
  readonly unbornUploadId: string
}

type Case = Change | ((place: Place) => Change)
type Cases = Readonly<Record<string, Case>>

const wrongMd5 = createHash('md5').update('something else').digest('base64')
const longKey = 'k'.repeat(1025)
const metadata = { 'x-amz-meta-long': 'v'.repeat(3000) }
const mebibyte = 1024 ** 2
const tags = (count: number) => {
  const all = Array.from({ length: count }, (_, index) => `<Tag><Key>k${index}</Key><Value>v</Value></Tag>`)
  return `<Tagging><TagSet>${all.join('')}</TagSet></Tagging>`
}
const twice =
  '<Tagging><TagSet><Tag><Key>k</Key><Value>1</Value></Tag><Tag><Key>k</Key><Value>2</Value></Tag></TagSet></Tagging>'
const retention = (mode: string, year: number) =>
  `<Retention><Mode>${mode}</Mode><RetainUntilDate>${year}-01-01T00:00:00Z</RetainUntilDate></Retention>`
const lock = (rule: string) =>
  `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>${rule}</ObjectLockConfiguration>`
const rule = (inner: string) => `<LifecycleConfiguration>${inner}</LifecycleConfiguration>`
const expiring = (id: string, inner: string) =>
  `<Rule><ID>${id}</ID><Status>Enabled</Status><Filter><Prefix/></Filter>${inner}</Rule>`
const parts = (...listed: readonly (readonly [number, string])[]) => {
  const all = listed.map(([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`)
  return `<CompleteMultipartUpload>${all.join('')}</CompleteMultipartUpload>`
}
const cors = (method: string) =>
  `<CORSConfiguration><CORSRule><AllowedMethod>${method}</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>`
const logging = (target: string, prefix: string, more = '') =>
  `<BucketLoggingStatus><LoggingEnabled><TargetBucket>${target}</TargetBucket><TargetPrefix>${prefix}</TargetPrefix>${more}</LoggingEnabled></BucketLoggingStatus>`
const encrypting = (inner: string) =>
  `<ServerSideEncryptionConfiguration><Rule>${inner}</Rule></ServerSideEncryptionConfiguration>`
const byDefault = (inner: string) =>
  encrypting(`<ApplyServerSideEncryptionByDefault>${inner}</ApplyServerSideEncryptionByDefault>`)
const policy = (action: string) =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Deny', Principal: '*', Action: action, Resource: 'arn:aws:s3:::errors-plain/denied' }],
  })
const streamed = { 'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'content-encoding': 'aws-chunked' }

const boundary = 'provocation'
const formHeaders = { 'content-type': `multipart/form-data; boundary=${boundary}` }
function form(fields: Readonly<Record<string, string>>, files = 1, content = 'data'): string {
  const named = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${content}\r\n`
  return `${named.join('')}${file.repeat(files)}--${boundary}--\r\n`
}
const posted = (fields: Readonly<Record<string, string>>, files = 1): Change => ({
  headers: formHeaders,
  body: form({ key: 'posted', ...fields }, files),
})
const withPolicy = (text: string): Change =>
  posted(signPolicy({ accessKey, secret: secretKey, region }, text, Date.now()))
const sized = (bytesMin: number, bytesMax: number) => {
  const conditions = [{ bucket: 'errors-plain' }, { key: 'posted' }, ['starts-with', '$x-amz-credential', '']]
  const more = [
    ['starts-with', '$x-amz-date', ''],
    ['starts-with', '$x-amz-algorithm', ''],
  ]
  const range = ['content-length-range', bytesMin, bytesMax]
  const expiration = '2099-01-01T00:00:00Z'
  return () => withPolicy(JSON.stringify({ expiration, conditions: [...conditions, ...more, range] }))
}

/** What makes a request of an operation one that succeeds, where its declaration is not enough. */
export const complete: Readonly<Record<string, Case>> = {
  AbortMultipartUpload: ({ uploadId }) => ({ query: `uploadId=${uploadId}` }),
  CompleteMultipartUpload: ({ uploadId, partEtag }) => ({ query: `uploadId=${uploadId}`, body: parts([1, partEtag]) }),
  CopyObject: { headers: { 'x-amz-copy-source': '/errors-plain/tagged' } },
  DeleteObjects: { body: '<Delete><Object><Key>nothing</Key></Object></Delete>' },
  GetObjectAttributes: { headers: { 'x-amz-object-attributes': 'ETag' } },
  ListParts: ({ uploadId }) => ({ query: `uploadId=${uploadId}` }),
  OptionsBucket: { headers: { origin: 'https://example.org', 'access-control-request-method': 'GET' } },
  OptionsObject: { headers: { origin: 'https://example.org', 'access-control-request-method': 'GET' } },
  PostObject: posted({}),
  PutBucketAccelerateConfiguration: {
    body: '<AccelerateConfiguration><Status>Suspended</Status></AccelerateConfiguration>',
  },
  PutBucketAcl: { headers: { 'x-amz-acl': 'private' } },
  PutBucketCors: { body: cors('GET') },
  PutBucketEncryption: {
    body: encrypting('<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>'),
  },
  PutBucketLifecycleConfiguration: { body: rule(expiring('a', '<Expiration><Days>1</Days></Expiration>')) },
  PutBucketLogging: { body: '<BucketLoggingStatus/>' },
  PutBucketNotificationConfiguration: { body: '<NotificationConfiguration/>' },
  PutBucketOwnershipControls: {
    body: '<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>',
  },
  PutBucketPolicy: { body: policy('s3:GetObject') },
  PutBucketRequestPayment: {
    body: '<RequestPaymentConfiguration><Payer>BucketOwner</Payer></RequestPaymentConfiguration>',
  },
  PutBucketTagging: { body: tags(1) },
  PutBucketVersioning: { body: '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>' },
  PutObject: { body: 'data' },
  PutObjectAcl: { headers: { 'x-amz-acl': 'private' } },
  PutObjectLegalHold: { body: '<LegalHold><Status>OFF</Status></LegalHold>' },
  PutObjectLockConfiguration: { body: lock('') },
  PutObjectRetention: { body: retention('GOVERNANCE', 2090) },
  PutObjectTagging: { body: tags(1) },
  PutPublicAccessBlock: { body: '<PublicAccessBlockConfiguration/>' },
  RenameObject: { key: 'renamed', headers: { 'x-amz-rename-source': 'key' } },
  UpdateObjectEncryption: {
    body: '<ObjectEncryption><SSE-KMS><KMSKeyArn>key</KMSKeyArn></SSE-KMS></ObjectEncryption>',
  },
  UploadPart: ({ uploadId }) => ({ query: `partNumber=2&uploadId=${uploadId}`, body: 'data' }),
  UploadPartCopy: ({ uploadId }) => ({
    query: `partNumber=2&uploadId=${uploadId}`,
    headers: { 'x-amz-copy-source': '/errors-plain/tagged' },
  }),
}

const foreignOwner = { headers: { 'x-amz-source-expected-bucket-owner': '0123456789ab' } }
const copyCases: Cases = {
  AccessDenied: foreignOwner,
  InvalidArgument: { headers: { 'x-amz-copy-source': 'no-key' } },
  NoSuchKey: { headers: { 'x-amz-copy-source': '/errors-plain/nothing' } },
  NoSuchVersion: { headers: { 'x-amz-copy-source': '/errors-locked/key?versionId=00000000000001' } },
  PreconditionFailed: { headers: { 'x-amz-copy-source-if-match': '"00"' } },
}
const attributeCases: Cases = {
  InvalidRedirectLocation: { headers: { 'x-amz-website-redirect-location': 'elsewhere' } },
  InvalidStorageClass: { headers: { 'x-amz-storage-class': 'PAPER' } },
  MetadataTooLarge: { headers: metadata },
}
const bodyCases: Cases = {
  BadDigest: { headers: { 'content-md5': wrongMd5 } },
  EntityTooLarge: { announcedBytes: 5 * 1024 ** 3 + 1 },
  IncompleteBody: { headers: { ...streamed, 'x-amz-decoded-content-length': '9' }, body: '4\r\ndata\r\n0\r\n\r\n' },
  InvalidDigest: { headers: { 'content-md5': 'none' } },
  MissingContentLength: { isChunked: true },
}
const readCases: Cases = {
  InvalidPartNumber: { query: 'partNumber=2' },
  InvalidRange: { headers: { range: 'bytes=99-' } },
  InvalidRequest: { query: 'partNumber=1', headers: { range: 'bytes=0-1' } },
  PreconditionFailed: { headers: { 'if-match': '"00"' } },
}
const named = (wanted: string): Cases => ({ [wanted]: { query: 'id=some' } })
const listCases: Cases = { InvalidArgument: { query: 'continuation-token=none' } }
const uploadMissing: Cases = { NoSuchUpload: { query: 'uploadId=00000000000000000000000000000000' } }
const aclCases: Cases = {
  AccessControlListNotSupported: ({ plain }) => ({
    bucket: plain,
    headers: { 'x-amz-acl': '' },
    body:
      '<AccessControlPolicy><AccessControlList><Grant><Grantee><ID>other</ID></Grantee><Permission>READ</Permission></Grant>' +
      '</AccessControlList></AccessControlPolicy>',
  }),
  AccessDenied: ({ lists }) => ({ bucket: lists, headers: { 'x-amz-acl': 'public-read' } }),
  InvalidArgument: { headers: { 'x-amz-acl': 'secret' } },
  InvalidRequest: ({ lists }) => ({ bucket: lists, headers: { 'x-amz-grant-read': 'id=someone' } }),
  MalformedACLError: { headers: { 'x-amz-acl': '' }, body: '<AccessControlPolicy/>' },
  MalformedXML: { headers: { 'x-amz-acl': '' }, body: '<unclosed>' },
  MissingSecurityHeader: { headers: { 'x-amz-acl': '' } },
  UnexpectedContent: { body: '<AccessControlPolicy/>' },
}

export const provocations: Readonly<Record<string, Cases>> = {
  CreateBucket: {
    AccessDenied: { headers: { 'x-amz-expected-bucket-owner': '0123456789ab' } },
    BadRequest: {
      bucket: 'errors-new',
      body: `<CreateBucketConfiguration>${tags(51)
        .replaceAll(/<.?Tagging>/g, '')
        .replaceAll('TagSet', 'Tags')}</CreateBucketConfiguration>`,
    },
    AccessControlListNotSupported: {
      bucket: 'errors-new',
      headers: { 'x-amz-acl': 'aws-exec-read', 'x-amz-object-ownership': 'ObjectWriter' },
    },
    InvalidArgument: { bucket: 'errors-new', headers: { 'x-amz-object-ownership': 'Everybody' } },
    InvalidBucketAclWithObjectOwnership: { bucket: 'errors-new', headers: { 'x-amz-acl': 'public-read' } },
    InvalidBucketName: { bucket: 'xn--errors' },
    InvalidLocationConstraint: {
      bucket: 'errors-new',
      body: '<CreateBucketConfiguration><LocationConstraint>moon-1</LocationConstraint></CreateBucketConfiguration>',
    },
    InvalidTag: {
      bucket: 'errors-new',
      body: '<CreateBucketConfiguration><Tags><Tag><Key/><Value/></Tag></Tags></CreateBucketConfiguration>',
    },
    MalformedXML: { bucket: 'errors-new', body: '<unclosed>' },
    NotImplemented: {
      bucket: 'errors-new',
      body: '<CreateBucketConfiguration><Bucket><Type>Directory</Type></Bucket></CreateBucketConfiguration>',
    },
  },
  DeleteBucket: {
    AccessDenied: { headers: { 'x-amz-expected-bucket-owner': '0123456789ab' } },
    BucketNotEmpty: {},
  },
  ListBuckets: { InvalidArgument: { query: 'max-buckets=0' } },
  ListObjects: { InvalidArgument: { query: 'max-keys=many' } },
  ListObjectsV2: { InvalidArgument: { query: 'continuation-token=' } },
  ListObjectVersions: { InvalidArgument: { query: 'version-id-marker=x' } },
  PutBucketVersioning: {
    InvalidBucketState: ({ locked }) => ({
      bucket: locked,
      body: '<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>',
    }),
    NotImplemented: {
      body: '<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete></VersioningConfiguration>',
    },
  },
  CopyObject: {
    ...copyCases,
    ...attributeCases,
    MetadataTooLarge: { headers: { ...metadata, 'x-amz-metadata-directive': 'REPLACE' } },
    InvalidRequest: { headers: { 'x-amz-copy-source': '/errors-plain/key' } },
    NotImplemented: { headers: { 'if-none-match': '"00"' } },
  },
  DeleteObject: {
    AccessDenied: ({ locked, lockedVersion }) => ({
      bucket: locked,
      key: 'locked',
      query: `versionId=${lockedVersion}`,
    }),
    PreconditionFailed: { headers: { 'if-match': '"00"' } },
  },
  DeleteObjects: {
    BadDigest: { headers: { 'content-md5': wrongMd5 } },
    InvalidDigest: { headers: { 'content-md5': 'none' } },
    InvalidRequest: { headers: { 'content-md5': '' } },
  },
  GetObject: readCases,
  HeadObject: readCases,
  GetObjectAttributes: { InvalidArgument: { headers: { 'x-amz-object-attributes': 'Colour' } } },
  PutObject: {
    ...bodyCases,
    ...attributeCases,
    AccessDenied: { headers: { 'x-amz-expected-bucket-owner': '0123456789ab' } },
    KeyTooLongError: { key: longKey },
    NoSuchKey: { key: 'nothing', headers: { 'if-match': '"00"' } },
    NotImplemented: { headers: { 'if-none-match': '"00"' } },
    PreconditionFailed: { headers: { 'if-none-match': '*' } },
  },
  RenameObject: {
    AccessDenied: { headers: { 'x-amz-expected-bucket-owner': '0123456789ab' } },
    IdempotencyParameterMismatch: { headers: { 'x-amz-client-token': 'used' } },
    InvalidArgument: { headers: { 'x-amz-client-token': 'two words' } },
    InvalidBucketState: ({ locked }) => ({ bucket: locked }),
    InvalidRequest: { key: 'folder/' },
    KeyTooLongError: { headers: { 'x-amz-rename-source': longKey } },
    NoSuchKey: { headers: { 'x-amz-rename-source': 'nothing' } },
    NotImplemented: { headers: { 'if-none-match': '"00"' } },
    PreconditionFailed: { headers: { 'x-amz-rename-source-if-match': '"00"' } },
  },
  AbortMultipartUpload: uploadMissing,
  CompleteMultipartUpload: {
    ...uploadMissing,
    AccessDenied: { headers: { 'x-amz-expected-bucket-owner': '0123456789ab' } },
    BadDigest: { headers: { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' } },
    EntityTooSmall: ({ smallUploadId, partEtag }) => ({
      query: `uploadId=${smallUploadId}`,
      body: parts([1, partEtag], [2, partEtag]),
    }),
    InvalidPart: { body: parts([1, '"00000000000000000000000000000000"']) },
    InvalidPartOrder: ({ smallUploadId, partEtag }) => ({
      query: `uploadId=${smallUploadId}`,
      body: parts([2, partEtag], [1, partEtag]),
    }),
    InvalidRequest: { headers: { 'x-amz-mp-object-size': '1' } },
    NoSuchKey: ({ unbornUploadId }) => ({
      query: `uploadId=${unbornUploadId}`,
      key: 'unborn',
      headers: { 'if-match': '"00"' },
    }),
    NotImplemented: { headers: { 'if-none-match': '"00"' } },
    PreconditionFailed: { headers: { 'if-none-match': '*' } },
  },
  CreateMultipartUpload: {
    ...attributeCases,
    InvalidRequest: { headers: { 'x-amz-checksum-type': 'FULL_OBJECT' } },
    KeyTooLongError: { key: longKey },
  },
  ListMultipartUploads: { InvalidArgument: { query: 'max-uploads=-1' } },
  ListParts: { ...uploadMissing, InvalidArgument: ({ uploadId }) => ({ query: `uploadId=${uploadId}&max-parts=x` }) },
  UploadPart: {
    ...bodyCases,
    InvalidArgument: ({ uploadId }) => ({ query: `partNumber=0&uploadId=${uploadId}` }),
    InvalidRequest: { headers: { 'x-amz-sdk-checksum-algorithm': 'CRC32' } },
    NoSuchUpload: { query: 'partNumber=1&uploadId=00000000000000000000000000000000' },
  },
  UploadPartCopy: {
    ...copyCases,
    InvalidRequest: ({ markerVersion }) => ({
      headers: { 'x-amz-copy-source': `/errors-locked/marker?versionId=${markerVersion}` },
    }),
    NoSuchUpload: { query: 'partNumber=1&uploadId=00000000000000000000000000000000' },
  },
  PutBucketNotificationConfiguration: {
    InvalidArgument: {
      body: '<NotificationConfiguration><QueueConfiguration><Queue>arn:aws:sqs:::none</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>',
    },
    NotImplemented: { body: '<NotificationConfiguration><EventBridgeConfiguration/></NotificationConfiguration>' },
  },
  PostObject: {
    BadDigest: posted({ 'content-md5': wrongMd5 }),
    EntityTooLarge: sized(0, 1),
    EntityTooSmall: sized(100, 200),
    IncompleteBody: {
      ...posted({}),
      headers: { ...formHeaders, ...streamed, 'x-amz-decoded-content-length': '999' },
      body: '4\r\ndata\r\n0\r\n\r\n',
    },
    IncorrectNumberOfFilesInPostRequest: posted({}, 0),
    InvalidArgument: { headers: formHeaders, body: form({}) },
    InvalidDigest: posted({ 'content-md5': 'none' }),
    InvalidPolicyDocument: () => withPolicy('no JSON'),
    InvalidRedirectLocation: posted({ 'x-amz-website-redirect-location': 'elsewhere' }),
    InvalidStorageClass: posted({ 'x-amz-storage-class': 'PAPER' }),
    KeyTooLongError: posted({ key: longKey }),
    MalformedPOSTRequest: { headers: { 'content-type': 'multipart/form-data' } },
    MaxPostPreDataLengthExceededError: posted({ 'x-amz-meta-long': 'v'.repeat(mebibyte) }),
    MetadataTooLarge: posted(metadata),
    MissingContentLength: { isChunked: true },
    PreconditionFailed: { headers: { 'content-type': 'text/plain' } },
  },
  GetBucketOwnershipControls: { OwnershipControlsNotFoundError: ({ locked }) => ({ bucket: locked }) },
  GetPublicAccessBlock: { NoSuchPublicAccessBlockConfiguration: {} },
  PutBucketAcl: aclCases,
  PutObjectAcl: { ...aclCases },
  PutBucketOwnershipControls: {
    InvalidBucketAclWithObjectOwnership: ({ lists }) => ({ bucket: lists }),
  },
  GetBucketPolicy: { NoSuchBucketPolicy: {} },
  GetBucketPolicyStatus: { NoSuchBucketPolicy: {} },
  PutBucketPolicy: {
    BadDigest: { headers: { 'content-md5': wrongMd5 } },
    MalformedPolicy: { body: policy('s3:Nothing') },
  },
  GetBucketCors: { NoSuchCORSConfiguration: {} },
  GetBucketEncryption: { ServerSideEncryptionConfigurationNotFoundError: ({ locked }) => ({ bucket: locked }) },
  PutBucketEncryption: {
    InvalidArgument: {
      body: byDefault('<SSEAlgorithm>AES256</SSEAlgorithm><KMSMasterKeyID>key</KMSMasterKeyID>'),
    },
    NotImplemented: { body: byDefault('<SSEAlgorithm>AES256</SSEAlgorithm>') },
  },
  UpdateObjectEncryption: { InvalidRequest: {} },
  PutBucketCors: { InvalidRequest: { body: cors('BREW') } },
  OptionsBucket: {
    AccessForbidden: { headers: { 'access-control-request-method': 'BREW' } },
    BadRequest: { headers: { origin: '' } },
  },
  OptionsObject: {
    AccessForbidden: { headers: { 'access-control-request-method': 'BREW' } },
    BadRequest: { headers: { origin: '' } },
  },
  GetBucketReplication: { ReplicationConfigurationNotFoundError: {} },
  GetBucketWebsite: { NoSuchWebsiteConfiguration: {} },
  PutBucketLogging: {
    AccessControlListNotSupported: { body: logging('bucket', 'x', '<TargetGrants><Grant/></TargetGrants>') },
    InvalidTargetBucketForLogging: { body: logging('missing-target', 'x') },
    KeyTooLongError: { body: logging('bucket', 'x'.repeat(1024)) },
  },
  PutBucketRequestPayment: {
    NotImplemented: { body: '<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>' },
  },
  PutBucketAccelerateConfiguration: {
    NotImplemented: { body: '<AccelerateConfiguration><Status>Enabled</Status></AccelerateConfiguration>' },
  },
  ...Object.fromEntries(
    ['Analytics', 'IntelligentTiering', 'Inventory', 'Metrics'].flatMap(kind => [
      [`ListBucket${kind}Configurations`, listCases],
      [`GetBucket${kind}Configuration`, named('NoSuchConfiguration')],
      [`DeleteBucket${kind}Configuration`, named('NoSuchConfiguration')],
    ]),
  ),
  GetBucketTagging: { NoSuchTagSet: {} },
  PutBucketTagging: { BadRequest: { body: tags(51) }, InvalidTag: { body: twice } },
  PutObjectTagging: { BadRequest: { body: tags(11) }, InvalidTag: { body: twice } },
  GetObjectLegalHold: { InvalidRequest: ({ plain }) => ({ bucket: plain }), NoSuchObjectLockConfiguration: {} },
  GetObjectRetention: { InvalidRequest: ({ plain }) => ({ bucket: plain }), NoSuchObjectLockConfiguration: {} },
  GetObjectLockConfiguration: { ObjectLockConfigurationNotFoundError: ({ plain }) => ({ bucket: plain }) },
  PutObjectLegalHold: { InvalidRequest: ({ plain }) => ({ bucket: plain }) },
  PutObjectLockConfiguration: {
    InvalidBucketState: ({ plain }) => ({ bucket: plain }),
    InvalidRetentionPeriod: {
      body: lock('<Rule><DefaultRetention><Mode>GOVERNANCE</Mode><Days>0</Days></DefaultRetention></Rule>'),
    },
  },
  PutObjectRetention: {
    AccessDenied: { key: 'locked', body: retention('COMPLIANCE', 2080) },
    InvalidArgument: { body: retention('GOVERNANCE', 2001) },
    InvalidRequest: ({ plain }) => ({ bucket: plain }),
  },
  GetBucketLifecycleConfiguration: { NoSuchLifecycleConfiguration: {} },
  PutBucketLifecycleConfiguration: {
    InvalidArgument: { body: rule(expiring('a', '<Expiration><Days>0</Days></Expiration>')) },
    InvalidRequest: { body: rule(expiring('a', '')) },
    NotImplemented: { body: rule(expiring('a', '<Transition><Days>1</Days></Transition>')) },
  },
}

/** What no request can bring about in a test, and what tests it instead. */
export const elsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CreateBucket: {
    BucketAlreadyExists: 'all buckets here have one owner: plugins/objects/test/objects.test.ts',
    BucketAlreadyOwnedByYou: 'in us-east-1 the answer is 200: plugins/buckets/test/buckets.test.ts',
  },
  DeleteBucket: { BucketInUse: 'needs a distribution: plugins/distributions/test/kept-buckets.test.ts' },
  CompleteMultipartUpload: { EntityTooLarge: 'more than 50 TB: plugins/objects/test/objects.test.ts' },
  PutBucketEncryption: {
    'KMS.NotFoundException': 'there are no keys here: plugins/encryption/test/encryption.slow.test.ts',
  },
  UpdateObjectEncryption: {
    'KMS.NotFoundException': 'there are no keys here: plugins/encryption/test/encryption.slow.test.ts',
    NotImplemented: 'an object from when there were keys: plugins/encryption/test/encryption.slow.test.ts',
  },
}

/** Objects that are or were locked, or have versions: tried in the bucket with object lock. */
export const needsLock = /^(Get|Put)Object(Retention|LegalHold)$|ObjectLockConfiguration$/

/** What follows from a declaration; undefined where it must be written down. */
export function derived({ match, body, versionedAction }: S3Operation, code: string): Case | undefined {
  if (code === 'NoSuchBucket') return ({ missing }) => ({ bucket: missing })
  if (code === 'MalformedXML' && body.kind === 'xml') return { body: '<unclosed>' }
  if (match.level !== 'object') return undefined
  if (code === 'NoSuchKey') return { key: 'nothing' }
  if (versionedAction === undefined) return undefined
  const query = (id: string) => `versionId=${id}`
  if (code === 'InvalidArgument') return { query: query('none') }
  if (code === 'NoSuchVersion') return ({ locked }) => ({ bucket: locked, query: query('00000000000001') })
  if (code === 'MethodNotAllowed') {
    return ({ locked, markerVersion }) => ({ bucket: locked, key: 'marker', query: query(markerVersion) })
  }
  return undefined
}
