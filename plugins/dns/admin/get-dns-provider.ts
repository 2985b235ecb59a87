import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { DnsProvider, describeProvider, ProviderParameters } from './dns-provider-schema.ts'

export default defineAdminOperation({
  id: 'getDnsProvider',
  method: 'GET',
  path: '/dns-providers/{name}',
  tag: 'certificates',
  summary: 'Returns a DNS provider without its secrets, and which documents use it.',
  authorize: ['admin:ManageCertificates'],
  params: ProviderParameters,
  response: DnsProvider,
  etag: true,
  errors: ['dns_provider_not_found'],
  uses: ['dnsProviders'],
  handle: async ({ params: { name } }, { dnsProviders }) => describeProvider(await dnsProviders.get(name)),
})
