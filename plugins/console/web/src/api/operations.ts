/** The operations of the Admin API that the console calls, with their types: the API's own declarations, never written twice. */
import type { Static, TObject, TSchema } from 'typebox'
import type { AdminOperationDeclaration } from '../../../../admin/api.ts'
import type getSession from '../../../../auth-session/admin/get-session.ts'
import type login from '../../../../auth-session/admin/login.ts'
import type logout from '../../../../auth-session/admin/logout.ts'
import type createBucket from '../../../../buckets/admin/create-bucket.ts'
import type deleteBucket from '../../../../buckets/admin/delete-bucket.ts'
import type getBucket from '../../../../buckets/admin/get-bucket.ts'
import type getUsage from '../../../../buckets/admin/get-usage.ts'
import type listBuckets from '../../../../buckets/admin/list-buckets.ts'
import type setBucketVersioning from '../../../../buckets/admin/set-bucket-versioning.ts'
import type getRedundancy from '../../../../heal/admin/get-redundancy.ts'
import type queryMetrics from '../../../../metrics-history/admin/query-metrics.ts'
import type abortUpload from '../../../../multipart/admin/abort-upload.ts'
import type completeUpload from '../../../../multipart/admin/complete-upload.ts'
import type createUpload from '../../../../multipart/admin/create-upload.ts'
import type deleteObjects from '../../../../object-operations/admin/delete-objects.ts'
import type listObjects from '../../../../object-operations/admin/list-objects.ts'
import type statObject from '../../../../object-operations/admin/stat-object.ts'
import type getServerInfo from '../../../../server/admin/get-server-info.ts'
import type createShare from '../../../../share/admin/create-share.ts'
import type listShares from '../../../../share/admin/list-shares.ts'
import type revokeShare from '../../../../share/admin/revoke-share.ts'
import type getPermissions from '../../../../users/admin/get-permissions.ts'

interface Declarations {
  abortUpload: typeof abortUpload
  completeUpload: typeof completeUpload
  createBucket: typeof createBucket
  createShare: typeof createShare
  createUpload: typeof createUpload
  deleteBucket: typeof deleteBucket
  deleteObjects: typeof deleteObjects
  getBucket: typeof getBucket
  getPermissions: typeof getPermissions
  getRedundancy: typeof getRedundancy
  getServerInfo: typeof getServerInfo
  getSession: typeof getSession
  getUsage: typeof getUsage
  listBuckets: typeof listBuckets
  listObjects: typeof listObjects
  listShares: typeof listShares
  login: typeof login
  logout: typeof logout
  queryMetrics: typeof queryMetrics
  revokeShare: typeof revokeShare
  setBucketVersioning: typeof setBucketVersioning
  statObject: typeof statObject
}

export type OperationId = keyof Declarations

type Parts<Id extends OperationId> =
  Declarations[Id] extends AdminOperationDeclaration<infer Params, infer Query, infer Body, infer Response>
    ? { params: Params; query: Query; body: Body; response: Response }
    : never

type ValueOf<Schema> = Schema extends TSchema ? Static<Schema> : never
/** Defaults are the server's to fill in. */
type Given<Schema> = Schema extends TObject ? Partial<Static<Schema>> : ValueOf<Schema>

/** What the operation answers. */
export type Answer<Id extends OperationId> = ValueOf<Parts<Id>['response']>

export interface Request<Id extends OperationId> {
  /** Of the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Given<Parts<Id>['query']>
  readonly body?: Given<Parts<Id>['body']>
  readonly signal?: AbortSignal
}

export type Bucket = Answer<'listBuckets'>['items'][number]
export type ListedObject = Answer<'listObjects'>['objects'][number]
export type ObjectDetails = Answer<'statObject'>
export type Session = Answer<'getSession'>
