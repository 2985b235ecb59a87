/** The server: its state, drives, events, keys, locks, settings, archives, audit. */
import type listAuditTargets from '../../../../../audit/admin/list-audit-targets.ts'
import type searchAudit from '../../../../../audit/admin/search-audit.ts'
import type exportCluster from '../../../../../cluster-archive/admin/export-cluster.ts'
import type importCluster from '../../../../../cluster-archive/admin/import-cluster.ts'
import type captureProfile from '../../../../../diagnostics/admin/capture-profile.ts'
import type cancelHealJob from '../../../../../heal/admin/cancel-heal-job.ts'
import type getHealJob from '../../../../../heal/admin/get-heal-job.ts'
import type getRedundancy from '../../../../../heal/admin/get-redundancy.ts'
import type listHealJobs from '../../../../../heal/admin/list-heal-jobs.ts'
import type startHeal from '../../../../../heal/admin/start-heal.ts'
import type createKmsKey from '../../../../../kms/admin/create-kms-key.ts'
import type getKmsStatus from '../../../../../kms/admin/get-kms-status.ts'
import type listKmsKeys from '../../../../../kms/admin/list-kms-keys.ts'
import type listLocks from '../../../../../lock/admin/list-locks.ts'
import type releaseLocks from '../../../../../lock/admin/release-locks.ts'
import type listMetrics from '../../../../../metrics-history/admin/list-metrics.ts'
import type queryMetrics from '../../../../../metrics-history/admin/query-metrics.ts'
import type discardNotifyDeadLetters from '../../../../../notify/admin/discard-notify-dead-letters.ts'
import type discardNotifyQueue from '../../../../../notify/admin/discard-notify-queue.ts'
import type getBucketEvents from '../../../../../notify/admin/get-bucket-events.ts'
import type listNotifyDeadLetters from '../../../../../notify/admin/list-notify-dead-letters.ts'
import type listNotifyQueues from '../../../../../notify/admin/list-notify-queues.ts'
import type listNotifyTargets from '../../../../../notify/admin/list-notify-targets.ts'
import type putBucketEvents from '../../../../../notify/admin/put-bucket-events.ts'
import type replayNotifyTarget from '../../../../../notify/admin/replay-notify-target.ts'
import type retryNotifyDeadLetters from '../../../../../notify/admin/retry-notify-dead-letters.ts'
import type testNotifyTarget from '../../../../../notify/admin/test-notify-target.ts'
import type createPrometheusToken from '../../../../../prometheus/admin/create-prometheus-token.ts'
import type getServerInfo from '../../../../../server/admin/get-server-info.ts'
import type listPlugins from '../../../../../server/admin/list-plugins.ts'
import type restartService from '../../../../../server/admin/restart-service.ts'
import type stopService from '../../../../../server/admin/stop-service.ts'
import type exportConfig from '../../../../../settings/admin/export-config.ts'
import type getConfig from '../../../../../settings/admin/get-config.ts'
import type getConfigSchema from '../../../../../settings/admin/get-config-schema.ts'
import type importConfig from '../../../../../settings/admin/import-config.ts'
import type replaceConfig from '../../../../../settings/admin/replace-config.ts'
import type resetConfigSubsystem from '../../../../../settings/admin/reset-config-subsystem.ts'
import type updateConfigSubsystem from '../../../../../settings/admin/update-config-subsystem.ts'
import type runSpeedtest from '../../../../../speedtest/admin/run-speedtest.ts'

export interface ServerOperations {
  cancelHealJob: typeof cancelHealJob
  captureProfile: typeof captureProfile
  createKmsKey: typeof createKmsKey
  createPrometheusToken: typeof createPrometheusToken
  discardNotifyDeadLetters: typeof discardNotifyDeadLetters
  discardNotifyQueue: typeof discardNotifyQueue
  exportCluster: typeof exportCluster
  exportConfig: typeof exportConfig
  getBucketEvents: typeof getBucketEvents
  getConfig: typeof getConfig
  getConfigSchema: typeof getConfigSchema
  getKmsStatus: typeof getKmsStatus
  getHealJob: typeof getHealJob
  getRedundancy: typeof getRedundancy
  getServerInfo: typeof getServerInfo
  importCluster: typeof importCluster
  importConfig: typeof importConfig
  listHealJobs: typeof listHealJobs
  listKmsKeys: typeof listKmsKeys
  listAuditTargets: typeof listAuditTargets
  listLocks: typeof listLocks
  listMetrics: typeof listMetrics
  listNotifyDeadLetters: typeof listNotifyDeadLetters
  listNotifyQueues: typeof listNotifyQueues
  listNotifyTargets: typeof listNotifyTargets
  listPlugins: typeof listPlugins
  putBucketEvents: typeof putBucketEvents
  queryMetrics: typeof queryMetrics
  releaseLocks: typeof releaseLocks
  replaceConfig: typeof replaceConfig
  replayNotifyTarget: typeof replayNotifyTarget
  resetConfigSubsystem: typeof resetConfigSubsystem
  restartService: typeof restartService
  retryNotifyDeadLetters: typeof retryNotifyDeadLetters
  runSpeedtest: typeof runSpeedtest
  searchAudit: typeof searchAudit
  startHeal: typeof startHeal
  stopService: typeof stopService
  testNotifyTarget: typeof testNotifyTarget
  updateConfigSubsystem: typeof updateConfigSubsystem
}
