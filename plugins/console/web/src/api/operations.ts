/** The operations of the Admin API that the console calls, with their types: the API's own declarations, never written twice. */
import type { Static, TObject, TSchema } from 'typebox'
import type getBucketBlockPublic from '../../../../access-rules/admin/get-bucket-block-public.ts'
import type setBucketBlockPublic from '../../../../access-rules/admin/set-bucket-block-public.ts'
import type { AdminOperationDeclaration } from '../../../../admin/api.ts'
import type searchAudit from '../../../../audit/admin/search-audit.ts'
import type getSession from '../../../../auth-session/admin/get-session.ts'
import type login from '../../../../auth-session/admin/login.ts'
import type logout from '../../../../auth-session/admin/logout.ts'
import type deleteBucketPolicy from '../../../../bucket-policy/admin/delete-bucket-policy.ts'
import type getBucketPolicy from '../../../../bucket-policy/admin/get-bucket-policy.ts'
import type putBucketPolicy from '../../../../bucket-policy/admin/put-bucket-policy.ts'
import type createBucket from '../../../../buckets/admin/create-bucket.ts'
import type deleteBucket from '../../../../buckets/admin/delete-bucket.ts'
import type getBucket from '../../../../buckets/admin/get-bucket.ts'
import type getBucketVersioning from '../../../../buckets/admin/get-bucket-versioning.ts'
import type getUsage from '../../../../buckets/admin/get-usage.ts'
import type listBuckets from '../../../../buckets/admin/list-buckets.ts'
import type setBucketVersioning from '../../../../buckets/admin/set-bucket-versioning.ts'
import type deleteCertificate from '../../../../certificates/admin/delete-certificate.ts'
import type listCertificates from '../../../../certificates/admin/list-certificates.ts'
import type renewCertificate from '../../../../certificates/admin/renew-certificate.ts'
import type deleteDistribution from '../../../../distributions/admin/delete-distribution.ts'
import type getDistribution from '../../../../distributions/admin/get-distribution.ts'
import type listDistributions from '../../../../distributions/admin/list-distributions.ts'
import type putDistribution from '../../../../distributions/admin/put-distribution.ts'
import type listDnsProviders from '../../../../dns/admin/list-dns-providers.ts'
import type testDnsProvider from '../../../../dns/admin/test-dns-provider.ts'
import type deleteBucketEncryption from '../../../../encryption/admin/delete-bucket-encryption.ts'
import type getBucketEncryption from '../../../../encryption/admin/get-bucket-encryption.ts'
import type setBucketEncryption from '../../../../encryption/admin/set-bucket-encryption.ts'
import type cancelHealJob from '../../../../heal/admin/cancel-heal-job.ts'
import type getRedundancy from '../../../../heal/admin/get-redundancy.ts'
import type listHealJobs from '../../../../heal/admin/list-heal-jobs.ts'
import type startHeal from '../../../../heal/admin/start-heal.ts'
import type createKmsKey from '../../../../kms/admin/create-kms-key.ts'
import type getKmsStatus from '../../../../kms/admin/get-kms-status.ts'
import type listKmsKeys from '../../../../kms/admin/list-kms-keys.ts'
import type getBucketLifecycle from '../../../../lifecycle/admin/get-bucket-lifecycle.ts'
import type putBucketLifecycle from '../../../../lifecycle/admin/put-bucket-lifecycle.ts'
import type queryMetrics from '../../../../metrics-history/admin/query-metrics.ts'
import type abortUpload from '../../../../multipart/admin/abort-upload.ts'
import type completeUpload from '../../../../multipart/admin/complete-upload.ts'
import type createUpload from '../../../../multipart/admin/create-upload.ts'
import type listNotifyTargets from '../../../../notify/admin/list-notify-targets.ts'
import type retryNotifyDeadLetters from '../../../../notify/admin/retry-notify-dead-letters.ts'
import type testNotifyTarget from '../../../../notify/admin/test-notify-target.ts'
import type deleteObjects from '../../../../object-operations/admin/delete-objects.ts'
import type listObjects from '../../../../object-operations/admin/list-objects.ts'
import type statObject from '../../../../object-operations/admin/stat-object.ts'
import type getBucketQuota from '../../../../quota/admin/get-bucket-quota.ts'
import type setBucketQuota from '../../../../quota/admin/set-bucket-quota.ts'
import type getServerInfo from '../../../../server/admin/get-server-info.ts'
import type listPlugins from '../../../../server/admin/list-plugins.ts'
import type getConfig from '../../../../settings/admin/get-config.ts'
import type getConfigSchema from '../../../../settings/admin/get-config-schema.ts'
import type updateConfigSubsystem from '../../../../settings/admin/update-config-subsystem.ts'
import type createShare from '../../../../share/admin/create-share.ts'
import type listShares from '../../../../share/admin/list-shares.ts'
import type revokeShare from '../../../../share/admin/revoke-share.ts'
import type getBucketTags from '../../../../tagging/admin/get-bucket-tags.ts'
import type setBucketTags from '../../../../tagging/admin/set-bucket-tags.ts'
import type addGroupMembers from '../../../../users/admin/add-group-members.ts'
import type attachPolicies from '../../../../users/admin/attach-policies.ts'
import type createAccessKey from '../../../../users/admin/create-access-key.ts'
import type createGroup from '../../../../users/admin/create-group.ts'
import type createUser from '../../../../users/admin/create-user.ts'
import type deleteAccessKey from '../../../../users/admin/delete-access-key.ts'
import type deleteGroup from '../../../../users/admin/delete-group.ts'
import type deletePolicy from '../../../../users/admin/delete-policy.ts'
import type deleteUser from '../../../../users/admin/delete-user.ts'
import type detachPolicies from '../../../../users/admin/detach-policies.ts'
import type getGroup from '../../../../users/admin/get-group.ts'
import type getPermissions from '../../../../users/admin/get-permissions.ts'
import type getPolicy from '../../../../users/admin/get-policy.ts'
import type listAccessKeys from '../../../../users/admin/list-access-keys.ts'
import type listGroups from '../../../../users/admin/list-groups.ts'
import type listPolicies from '../../../../users/admin/list-policies.ts'
import type listUsers from '../../../../users/admin/list-users.ts'
import type putPolicy from '../../../../users/admin/put-policy.ts'
import type removeGroupMember from '../../../../users/admin/remove-group-member.ts'
import type rotateAccessKey from '../../../../users/admin/rotate-access-key.ts'
import type setUserGroups from '../../../../users/admin/set-user-groups.ts'
import type setUserSecretKey from '../../../../users/admin/set-user-secret-key.ts'
import type updateAccessKey from '../../../../users/admin/update-access-key.ts'
import type updateGroup from '../../../../users/admin/update-group.ts'
import type updateUser from '../../../../users/admin/update-user.ts'
import type validatePolicy from '../../../../users/admin/validate-policy.ts'

interface Declarations {
  abortUpload: typeof abortUpload
  addGroupMembers: typeof addGroupMembers
  attachPolicies: typeof attachPolicies
  cancelHealJob: typeof cancelHealJob
  completeUpload: typeof completeUpload
  createAccessKey: typeof createAccessKey
  createBucket: typeof createBucket
  createGroup: typeof createGroup
  createKmsKey: typeof createKmsKey
  createShare: typeof createShare
  createUpload: typeof createUpload
  createUser: typeof createUser
  deleteAccessKey: typeof deleteAccessKey
  deleteBucket: typeof deleteBucket
  deleteBucketEncryption: typeof deleteBucketEncryption
  deleteBucketPolicy: typeof deleteBucketPolicy
  deleteCertificate: typeof deleteCertificate
  deleteDistribution: typeof deleteDistribution
  deleteGroup: typeof deleteGroup
  deleteObjects: typeof deleteObjects
  deletePolicy: typeof deletePolicy
  deleteUser: typeof deleteUser
  detachPolicies: typeof detachPolicies
  getBucket: typeof getBucket
  getBucketBlockPublic: typeof getBucketBlockPublic
  getBucketEncryption: typeof getBucketEncryption
  getBucketLifecycle: typeof getBucketLifecycle
  getBucketPolicy: typeof getBucketPolicy
  getBucketQuota: typeof getBucketQuota
  getBucketTags: typeof getBucketTags
  getBucketVersioning: typeof getBucketVersioning
  getConfig: typeof getConfig
  getConfigSchema: typeof getConfigSchema
  getGroup: typeof getGroup
  getKmsStatus: typeof getKmsStatus
  getPermissions: typeof getPermissions
  getPolicy: typeof getPolicy
  getDistribution: typeof getDistribution
  getRedundancy: typeof getRedundancy
  getServerInfo: typeof getServerInfo
  getSession: typeof getSession
  getUsage: typeof getUsage
  listAccessKeys: typeof listAccessKeys
  listBuckets: typeof listBuckets
  listCertificates: typeof listCertificates
  listDistributions: typeof listDistributions
  listDnsProviders: typeof listDnsProviders
  listGroups: typeof listGroups
  listHealJobs: typeof listHealJobs
  listKmsKeys: typeof listKmsKeys
  listNotifyTargets: typeof listNotifyTargets
  listObjects: typeof listObjects
  listPlugins: typeof listPlugins
  listPolicies: typeof listPolicies
  listShares: typeof listShares
  listUsers: typeof listUsers
  login: typeof login
  logout: typeof logout
  putBucketLifecycle: typeof putBucketLifecycle
  putBucketPolicy: typeof putBucketPolicy
  putDistribution: typeof putDistribution
  putPolicy: typeof putPolicy
  queryMetrics: typeof queryMetrics
  removeGroupMember: typeof removeGroupMember
  renewCertificate: typeof renewCertificate
  retryNotifyDeadLetters: typeof retryNotifyDeadLetters
  revokeShare: typeof revokeShare
  rotateAccessKey: typeof rotateAccessKey
  searchAudit: typeof searchAudit
  setBucketBlockPublic: typeof setBucketBlockPublic
  setBucketEncryption: typeof setBucketEncryption
  setBucketQuota: typeof setBucketQuota
  setBucketTags: typeof setBucketTags
  setBucketVersioning: typeof setBucketVersioning
  setUserGroups: typeof setUserGroups
  setUserSecretKey: typeof setUserSecretKey
  startHeal: typeof startHeal
  statObject: typeof statObject
  testDnsProvider: typeof testDnsProvider
  testNotifyTarget: typeof testNotifyTarget
  updateAccessKey: typeof updateAccessKey
  updateConfigSubsystem: typeof updateConfigSubsystem
  updateGroup: typeof updateGroup
  updateUser: typeof updateUser
  validatePolicy: typeof validatePolicy
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
  /** The ETag of what is changed: the change fails where somebody else has been quicker. */
  readonly ifMatch?: string
  readonly signal?: AbortSignal
}

export type Bucket = Answer<'listBuckets'>['items'][number]
export type ListedObject = Answer<'listObjects'>['objects'][number]
export type ObjectDetails = Answer<'statObject'>
export type Session = Answer<'getSession'>
