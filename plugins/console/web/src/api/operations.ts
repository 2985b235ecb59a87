/** The operations of the Admin API that the console calls, with their types: the API's own declarations, never written twice. */
import type { Static, TObject, TSchema } from 'typebox'
import type getAccessRules from '../../../../access-rules/admin/get-access-rules.ts'
import type getBlockPublic from '../../../../access-rules/admin/get-block-public.ts'
import type getBucketBlockPublic from '../../../../access-rules/admin/get-bucket-block-public.ts'
import type putAccessRules from '../../../../access-rules/admin/put-access-rules.ts'
import type setAccessPreset from '../../../../access-rules/admin/set-access-preset.ts'
import type setBlockPublic from '../../../../access-rules/admin/set-block-public.ts'
import type setBucketBlockPublic from '../../../../access-rules/admin/set-bucket-block-public.ts'
import type testAccessRules from '../../../../access-rules/admin/test-access-rules.ts'
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
import type createCachePolicy from '../../../../cache/admin/create-cache-policy.ts'
import type createDistributionInvalidation from '../../../../cache/admin/create-distribution-invalidation.ts'
import type createInvalidation from '../../../../cache/admin/create-invalidation.ts'
import type createWarmup from '../../../../cache/admin/create-warmup.ts'
import type deleteCachePolicy from '../../../../cache/admin/delete-cache-policy.ts'
import type getCachePolicy from '../../../../cache/admin/get-cache-policy.ts'
import type getCacheSettings from '../../../../cache/admin/get-cache-settings.ts'
import type getCacheStats from '../../../../cache/admin/get-cache-stats.ts'
import type getDistributionCache from '../../../../cache/admin/get-distribution-cache.ts'
import type getInvalidation from '../../../../cache/admin/get-invalidation.ts'
import type getWarmup from '../../../../cache/admin/get-warmup.ts'
import type inspectCache from '../../../../cache/admin/inspect-cache.ts'
import type listCachePolicies from '../../../../cache/admin/list-cache-policies.ts'
import type listInvalidations from '../../../../cache/admin/list-invalidations.ts'
import type putCachePolicy from '../../../../cache/admin/put-cache-policy.ts'
import type putCacheSettings from '../../../../cache/admin/put-cache-settings.ts'
import type putDistributionCache from '../../../../cache/admin/put-distribution-cache.ts'
import type validateCachePolicy from '../../../../cache/admin/validate-cache-policy.ts'
import type createCertificate from '../../../../certificates/admin/create-certificate.ts'
import type deleteCertificate from '../../../../certificates/admin/delete-certificate.ts'
import type getCertificate from '../../../../certificates/admin/get-certificate.ts'
import type listCertificates from '../../../../certificates/admin/list-certificates.ts'
import type putCertificate from '../../../../certificates/admin/put-certificate.ts'
import type renewCertificate from '../../../../certificates/admin/renew-certificate.ts'
import type exportCluster from '../../../../cluster-archive/admin/export-cluster.ts'
import type importCluster from '../../../../cluster-archive/admin/import-cluster.ts'
import type getBucketCors from '../../../../cors/admin/get-bucket-cors.ts'
import type putBucketCors from '../../../../cors/admin/put-bucket-cors.ts'
import type captureProfile from '../../../../diagnostics/admin/capture-profile.ts'
import type createDistribution from '../../../../distributions/admin/create-distribution.ts'
import type deleteDistribution from '../../../../distributions/admin/delete-distribution.ts'
import type getDistribution from '../../../../distributions/admin/get-distribution.ts'
import type listDistributions from '../../../../distributions/admin/list-distributions.ts'
import type putDistribution from '../../../../distributions/admin/put-distribution.ts'
import type rotateOriginSecret from '../../../../distributions/admin/rotate-origin-secret.ts'
import type signDistributionUrl from '../../../../distributions/admin/sign-distribution-url.ts'
import type testDistribution from '../../../../distributions/admin/test-distribution.ts'
import type createDnsProvider from '../../../../dns/admin/create-dns-provider.ts'
import type deleteDnsProvider from '../../../../dns/admin/delete-dns-provider.ts'
import type getDnsProvider from '../../../../dns/admin/get-dns-provider.ts'
import type listDnsProviders from '../../../../dns/admin/list-dns-providers.ts'
import type putDnsProvider from '../../../../dns/admin/put-dns-provider.ts'
import type testDnsProvider from '../../../../dns/admin/test-dns-provider.ts'
import type deleteBucketEncryption from '../../../../encryption/admin/delete-bucket-encryption.ts'
import type getBucketEncryption from '../../../../encryption/admin/get-bucket-encryption.ts'
import type resealKms from '../../../../encryption/admin/reseal-kms.ts'
import type setBucketEncryption from '../../../../encryption/admin/set-bucket-encryption.ts'
import type cancelHealJob from '../../../../heal/admin/cancel-heal-job.ts'
import type getRedundancy from '../../../../heal/admin/get-redundancy.ts'
import type listHealJobs from '../../../../heal/admin/list-heal-jobs.ts'
import type startHeal from '../../../../heal/admin/start-heal.ts'
import type addKeyGroupKey from '../../../../key-groups/admin/add-key-group-key.ts'
import type createKeyGroup from '../../../../key-groups/admin/create-key-group.ts'
import type deleteKeyGroup from '../../../../key-groups/admin/delete-key-group.ts'
import type listKeyGroups from '../../../../key-groups/admin/list-key-groups.ts'
import type putKeyGroup from '../../../../key-groups/admin/put-key-group.ts'
import type removeKeyGroupKey from '../../../../key-groups/admin/remove-key-group-key.ts'
import type createKmsKey from '../../../../kms/admin/create-kms-key.ts'
import type getKmsStatus from '../../../../kms/admin/get-kms-status.ts'
import type listKmsKeys from '../../../../kms/admin/list-kms-keys.ts'
import type getBucketLifecycle from '../../../../lifecycle/admin/get-bucket-lifecycle.ts'
import type putBucketLifecycle from '../../../../lifecycle/admin/put-bucket-lifecycle.ts'
import type runBucketLifecycle from '../../../../lifecycle/admin/run-bucket-lifecycle.ts'
import type listLocks from '../../../../lock/admin/list-locks.ts'
import type releaseLocks from '../../../../lock/admin/release-locks.ts'
import type queryMetrics from '../../../../metrics-history/admin/query-metrics.ts'
import type abortUpload from '../../../../multipart/admin/abort-upload.ts'
import type completeUpload from '../../../../multipart/admin/complete-upload.ts'
import type createUpload from '../../../../multipart/admin/create-upload.ts'
import type getUpload from '../../../../multipart/admin/get-upload.ts'
import type discardNotifyDeadLetters from '../../../../notify/admin/discard-notify-dead-letters.ts'
import type getBucketEvents from '../../../../notify/admin/get-bucket-events.ts'
import type listNotifyDeadLetters from '../../../../notify/admin/list-notify-dead-letters.ts'
import type listNotifyTargets from '../../../../notify/admin/list-notify-targets.ts'
import type putBucketEvents from '../../../../notify/admin/put-bucket-events.ts'
import type replayNotifyTarget from '../../../../notify/admin/replay-notify-target.ts'
import type retryNotifyDeadLetters from '../../../../notify/admin/retry-notify-dead-letters.ts'
import type testNotifyTarget from '../../../../notify/admin/test-notify-target.ts'
import type getBucketObjectLock from '../../../../object-lock/admin/get-bucket-object-lock.ts'
import type getObjectLegalHold from '../../../../object-lock/admin/get-object-legal-hold.ts'
import type getObjectRetention from '../../../../object-lock/admin/get-object-retention.ts'
import type setBucketObjectLock from '../../../../object-lock/admin/set-bucket-object-lock.ts'
import type setObjectLegalHold from '../../../../object-lock/admin/set-object-legal-hold.ts'
import type setObjectRetention from '../../../../object-lock/admin/set-object-retention.ts'
import type copyObject from '../../../../object-operations/admin/copy-object.ts'
import type deleteObjects from '../../../../object-operations/admin/delete-objects.ts'
import type downloadObject from '../../../../object-operations/admin/download-object.ts'
import type listObjectVersions from '../../../../object-operations/admin/list-object-versions.ts'
import type listObjects from '../../../../object-operations/admin/list-objects.ts'
import type setObjectMetadata from '../../../../object-operations/admin/set-object-metadata.ts'
import type statObject from '../../../../object-operations/admin/stat-object.ts'
import type listDistributionWebhooks from '../../../../purge/admin/list-distribution-webhooks.ts'
import type testDistributionWebhook from '../../../../purge/admin/test-distribution-webhook.ts'
import type getBucketQuota from '../../../../quota/admin/get-bucket-quota.ts'
import type setBucketQuota from '../../../../quota/admin/set-bucket-quota.ts'
import type getServerInfo from '../../../../server/admin/get-server-info.ts'
import type listPlugins from '../../../../server/admin/list-plugins.ts'
import type exportConfig from '../../../../settings/admin/export-config.ts'
import type getConfig from '../../../../settings/admin/get-config.ts'
import type getConfigSchema from '../../../../settings/admin/get-config-schema.ts'
import type importConfig from '../../../../settings/admin/import-config.ts'
import type updateConfigSubsystem from '../../../../settings/admin/update-config-subsystem.ts'
import type createShare from '../../../../share/admin/create-share.ts'
import type listShares from '../../../../share/admin/list-shares.ts'
import type presignUrl from '../../../../share/admin/presign-url.ts'
import type revokeShare from '../../../../share/admin/revoke-share.ts'
import type runSpeedtest from '../../../../speedtest/admin/run-speedtest.ts'
import type getBucketTags from '../../../../tagging/admin/get-bucket-tags.ts'
import type setBucketTags from '../../../../tagging/admin/set-bucket-tags.ts'
import type setObjectTags from '../../../../tagging/admin/set-object-tags.ts'
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
import type listPolicyActions from '../../../../users/admin/list-policy-actions.ts'
import type listUsers from '../../../../users/admin/list-users.ts'
import type putPolicy from '../../../../users/admin/put-policy.ts'
import type removeGroupMember from '../../../../users/admin/remove-group-member.ts'
import type rotateAccessKey from '../../../../users/admin/rotate-access-key.ts'
import type setUserGroups from '../../../../users/admin/set-user-groups.ts'
import type setUserSecretKey from '../../../../users/admin/set-user-secret-key.ts'
import type simulatePolicy from '../../../../users/admin/simulate-policy.ts'
import type updateAccessKey from '../../../../users/admin/update-access-key.ts'
import type updateGroup from '../../../../users/admin/update-group.ts'
import type updateUser from '../../../../users/admin/update-user.ts'
import type validatePolicy from '../../../../users/admin/validate-policy.ts'

interface Declarations {
  abortUpload: typeof abortUpload
  addGroupMembers: typeof addGroupMembers
  addKeyGroupKey: typeof addKeyGroupKey
  attachPolicies: typeof attachPolicies
  cancelHealJob: typeof cancelHealJob
  captureProfile: typeof captureProfile
  completeUpload: typeof completeUpload
  copyObject: typeof copyObject
  createAccessKey: typeof createAccessKey
  createBucket: typeof createBucket
  createCertificate: typeof createCertificate
  createDistribution: typeof createDistribution
  createDnsProvider: typeof createDnsProvider
  createGroup: typeof createGroup
  createKeyGroup: typeof createKeyGroup
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
  deleteDnsProvider: typeof deleteDnsProvider
  deleteGroup: typeof deleteGroup
  deleteKeyGroup: typeof deleteKeyGroup
  deleteObjects: typeof deleteObjects
  deletePolicy: typeof deletePolicy
  deleteUser: typeof deleteUser
  detachPolicies: typeof detachPolicies
  discardNotifyDeadLetters: typeof discardNotifyDeadLetters
  downloadObject: typeof downloadObject
  exportCluster: typeof exportCluster
  exportConfig: typeof exportConfig
  getAccessRules: typeof getAccessRules
  getBlockPublic: typeof getBlockPublic
  getBucket: typeof getBucket
  getBucketBlockPublic: typeof getBucketBlockPublic
  createCachePolicy: typeof createCachePolicy
  createDistributionInvalidation: typeof createDistributionInvalidation
  createInvalidation: typeof createInvalidation
  createWarmup: typeof createWarmup
  deleteCachePolicy: typeof deleteCachePolicy
  getCachePolicy: typeof getCachePolicy
  getCacheSettings: typeof getCacheSettings
  getCacheStats: typeof getCacheStats
  getDistributionCache: typeof getDistributionCache
  getInvalidation: typeof getInvalidation
  getWarmup: typeof getWarmup
  inspectCache: typeof inspectCache
  listCachePolicies: typeof listCachePolicies
  listInvalidations: typeof listInvalidations
  putCachePolicy: typeof putCachePolicy
  putCacheSettings: typeof putCacheSettings
  putDistributionCache: typeof putDistributionCache
  validateCachePolicy: typeof validateCachePolicy
  listDistributionWebhooks: typeof listDistributionWebhooks
  testDistributionWebhook: typeof testDistributionWebhook
  getBucketCors: typeof getBucketCors
  getBucketEncryption: typeof getBucketEncryption
  getBucketEvents: typeof getBucketEvents
  getBucketLifecycle: typeof getBucketLifecycle
  getBucketObjectLock: typeof getBucketObjectLock
  getBucketPolicy: typeof getBucketPolicy
  getBucketQuota: typeof getBucketQuota
  getBucketTags: typeof getBucketTags
  getBucketVersioning: typeof getBucketVersioning
  getCertificate: typeof getCertificate
  getConfig: typeof getConfig
  getConfigSchema: typeof getConfigSchema
  getDistribution: typeof getDistribution
  getDnsProvider: typeof getDnsProvider
  getGroup: typeof getGroup
  getKmsStatus: typeof getKmsStatus
  getObjectLegalHold: typeof getObjectLegalHold
  getObjectRetention: typeof getObjectRetention
  getPermissions: typeof getPermissions
  getPolicy: typeof getPolicy
  getRedundancy: typeof getRedundancy
  getServerInfo: typeof getServerInfo
  getSession: typeof getSession
  getUpload: typeof getUpload
  getUsage: typeof getUsage
  importCluster: typeof importCluster
  importConfig: typeof importConfig
  listAccessKeys: typeof listAccessKeys
  listBuckets: typeof listBuckets
  listCertificates: typeof listCertificates
  listDistributions: typeof listDistributions
  listDnsProviders: typeof listDnsProviders
  listGroups: typeof listGroups
  listHealJobs: typeof listHealJobs
  listKeyGroups: typeof listKeyGroups
  listKmsKeys: typeof listKmsKeys
  listNotifyDeadLetters: typeof listNotifyDeadLetters
  listNotifyTargets: typeof listNotifyTargets
  listObjectVersions: typeof listObjectVersions
  listObjects: typeof listObjects
  listPlugins: typeof listPlugins
  listPolicies: typeof listPolicies
  listPolicyActions: typeof listPolicyActions
  listShares: typeof listShares
  listUsers: typeof listUsers
  login: typeof login
  logout: typeof logout
  presignUrl: typeof presignUrl
  putAccessRules: typeof putAccessRules
  putBucketCors: typeof putBucketCors
  putCertificate: typeof putCertificate
  putBucketEvents: typeof putBucketEvents
  putBucketLifecycle: typeof putBucketLifecycle
  putBucketPolicy: typeof putBucketPolicy
  putDistribution: typeof putDistribution
  putDnsProvider: typeof putDnsProvider
  putKeyGroup: typeof putKeyGroup
  putPolicy: typeof putPolicy
  queryMetrics: typeof queryMetrics
  removeGroupMember: typeof removeGroupMember
  removeKeyGroupKey: typeof removeKeyGroupKey
  renewCertificate: typeof renewCertificate
  replayNotifyTarget: typeof replayNotifyTarget
  resealKms: typeof resealKms
  retryNotifyDeadLetters: typeof retryNotifyDeadLetters
  revokeShare: typeof revokeShare
  rotateAccessKey: typeof rotateAccessKey
  rotateOriginSecret: typeof rotateOriginSecret
  runBucketLifecycle: typeof runBucketLifecycle
  listLocks: typeof listLocks
  releaseLocks: typeof releaseLocks
  runSpeedtest: typeof runSpeedtest
  searchAudit: typeof searchAudit
  setAccessPreset: typeof setAccessPreset
  setBlockPublic: typeof setBlockPublic
  setBucketBlockPublic: typeof setBucketBlockPublic
  setBucketEncryption: typeof setBucketEncryption
  setBucketObjectLock: typeof setBucketObjectLock
  setBucketQuota: typeof setBucketQuota
  setBucketTags: typeof setBucketTags
  setBucketVersioning: typeof setBucketVersioning
  setObjectLegalHold: typeof setObjectLegalHold
  setObjectMetadata: typeof setObjectMetadata
  setObjectRetention: typeof setObjectRetention
  setObjectTags: typeof setObjectTags
  setUserGroups: typeof setUserGroups
  setUserSecretKey: typeof setUserSecretKey
  signDistributionUrl: typeof signDistributionUrl
  simulatePolicy: typeof simulatePolicy
  startHeal: typeof startHeal
  statObject: typeof statObject
  testAccessRules: typeof testAccessRules
  testDistribution: typeof testDistribution
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
  /** Instead of a body of JSON: bytes with their type. */
  readonly raw?: Blob
  /** The ETag of what is changed: the change fails where somebody else has been quicker. */
  readonly ifMatch?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type Bucket = Answer<'listBuckets'>['items'][number]
export type ListedObject = Answer<'listObjects'>['objects'][number]
export type ListedVersion = Answer<'listObjectVersions'>['items'][number]
export type ObjectDetails = Answer<'statObject'>
export type Session = Answer<'getSession'>
