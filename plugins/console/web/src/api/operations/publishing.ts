/** Distributions, certificates, DNS providers, key groups, the cache. */
import type createCachePolicy from '../../../../../cache/admin/create-cache-policy.ts'
import type createDistributionInvalidation from '../../../../../cache/admin/create-distribution-invalidation.ts'
import type createInvalidation from '../../../../../cache/admin/create-invalidation.ts'
import type createWarmup from '../../../../../cache/admin/create-warmup.ts'
import type deleteCachePolicy from '../../../../../cache/admin/delete-cache-policy.ts'
import type getCachePolicy from '../../../../../cache/admin/get-cache-policy.ts'
import type getCacheSettings from '../../../../../cache/admin/get-cache-settings.ts'
import type getCacheStats from '../../../../../cache/admin/get-cache-stats.ts'
import type getDistributionCache from '../../../../../cache/admin/get-distribution-cache.ts'
import type getInvalidation from '../../../../../cache/admin/get-invalidation.ts'
import type getWarmup from '../../../../../cache/admin/get-warmup.ts'
import type inspectCache from '../../../../../cache/admin/inspect-cache.ts'
import type listCachePolicies from '../../../../../cache/admin/list-cache-policies.ts'
import type listInvalidations from '../../../../../cache/admin/list-invalidations.ts'
import type putCachePolicy from '../../../../../cache/admin/put-cache-policy.ts'
import type putCacheSettings from '../../../../../cache/admin/put-cache-settings.ts'
import type putDistributionCache from '../../../../../cache/admin/put-distribution-cache.ts'
import type validateCachePolicy from '../../../../../cache/admin/validate-cache-policy.ts'
import type createCertificate from '../../../../../certificates/admin/create-certificate.ts'
import type deleteCertificate from '../../../../../certificates/admin/delete-certificate.ts'
import type getCertificate from '../../../../../certificates/admin/get-certificate.ts'
import type listCertificates from '../../../../../certificates/admin/list-certificates.ts'
import type putCertificate from '../../../../../certificates/admin/put-certificate.ts'
import type renewCertificate from '../../../../../certificates/admin/renew-certificate.ts'
import type importDistributions from '../../../../../distribution-archive/admin/import-distributions.ts'
import type createDistribution from '../../../../../distributions/admin/create-distribution.ts'
import type deleteDistribution from '../../../../../distributions/admin/delete-distribution.ts'
import type getDistribution from '../../../../../distributions/admin/get-distribution.ts'
import type listDistributions from '../../../../../distributions/admin/list-distributions.ts'
import type putDistribution from '../../../../../distributions/admin/put-distribution.ts'
import type resolveRoute from '../../../../../distributions/admin/resolve-route.ts'
import type rotateOriginSecret from '../../../../../distributions/admin/rotate-origin-secret.ts'
import type signDistributionUrl from '../../../../../distributions/admin/sign-distribution-url.ts'
import type testDistribution from '../../../../../distributions/admin/test-distribution.ts'
import type createDnsProvider from '../../../../../dns/admin/create-dns-provider.ts'
import type deleteDnsProvider from '../../../../../dns/admin/delete-dns-provider.ts'
import type getDnsProvider from '../../../../../dns/admin/get-dns-provider.ts'
import type listDnsProviders from '../../../../../dns/admin/list-dns-providers.ts'
import type putDnsProvider from '../../../../../dns/admin/put-dns-provider.ts'
import type testDnsProvider from '../../../../../dns/admin/test-dns-provider.ts'
import type addKeyGroupKey from '../../../../../key-groups/admin/add-key-group-key.ts'
import type createKeyGroup from '../../../../../key-groups/admin/create-key-group.ts'
import type deleteKeyGroup from '../../../../../key-groups/admin/delete-key-group.ts'
import type getKeyGroup from '../../../../../key-groups/admin/get-key-group.ts'
import type listKeyGroups from '../../../../../key-groups/admin/list-key-groups.ts'
import type putKeyGroup from '../../../../../key-groups/admin/put-key-group.ts'
import type removeKeyGroupKey from '../../../../../key-groups/admin/remove-key-group-key.ts'
import type listDistributionWebhooks from '../../../../../purge/admin/list-distribution-webhooks.ts'
import type testDistributionWebhook from '../../../../../purge/admin/test-distribution-webhook.ts'

export interface PublishingOperations {
  addKeyGroupKey: typeof addKeyGroupKey
  createCachePolicy: typeof createCachePolicy
  createCertificate: typeof createCertificate
  createDistribution: typeof createDistribution
  createDistributionInvalidation: typeof createDistributionInvalidation
  createDnsProvider: typeof createDnsProvider
  createInvalidation: typeof createInvalidation
  createKeyGroup: typeof createKeyGroup
  createWarmup: typeof createWarmup
  deleteCachePolicy: typeof deleteCachePolicy
  deleteCertificate: typeof deleteCertificate
  deleteDistribution: typeof deleteDistribution
  deleteDnsProvider: typeof deleteDnsProvider
  deleteKeyGroup: typeof deleteKeyGroup
  getCachePolicy: typeof getCachePolicy
  getCacheSettings: typeof getCacheSettings
  getCacheStats: typeof getCacheStats
  getCertificate: typeof getCertificate
  getDistribution: typeof getDistribution
  getDistributionCache: typeof getDistributionCache
  getDnsProvider: typeof getDnsProvider
  getInvalidation: typeof getInvalidation
  getKeyGroup: typeof getKeyGroup
  getWarmup: typeof getWarmup
  importDistributions: typeof importDistributions
  inspectCache: typeof inspectCache
  listCachePolicies: typeof listCachePolicies
  listCertificates: typeof listCertificates
  listDistributionWebhooks: typeof listDistributionWebhooks
  listDistributions: typeof listDistributions
  listDnsProviders: typeof listDnsProviders
  listInvalidations: typeof listInvalidations
  listKeyGroups: typeof listKeyGroups
  putCachePolicy: typeof putCachePolicy
  putCacheSettings: typeof putCacheSettings
  putCertificate: typeof putCertificate
  putDistribution: typeof putDistribution
  putDistributionCache: typeof putDistributionCache
  putDnsProvider: typeof putDnsProvider
  putKeyGroup: typeof putKeyGroup
  removeKeyGroupKey: typeof removeKeyGroupKey
  renewCertificate: typeof renewCertificate
  resolveRoute: typeof resolveRoute
  rotateOriginSecret: typeof rotateOriginSecret
  signDistributionUrl: typeof signDistributionUrl
  testDistribution: typeof testDistribution
  testDistributionWebhook: typeof testDistributionWebhook
  testDnsProvider: typeof testDnsProvider
  validateCachePolicy: typeof validateCachePolicy
}
