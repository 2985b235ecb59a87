import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { ProviderParameters } from './dns-provider-schema.ts'

export default defineAdminOperation({
  id: 'deleteDnsProvider',
  method: 'DELETE',
  path: '/dns-providers/{name}',
  tag: 'certificates',
  summary: 'Deletes a DNS provider that nothing uses, and at which nothing is published.',
  authorize: ['admin:ManageCertificates'],
  params: ProviderParameters,
  etag: true,
  errors: ['dns_provider_in_use', 'dns_provider_not_found', 'precondition_failed'],
  uses: ['dnsProviders'],
  handle: ({ params: { name }, ifMatch }, { dnsProviders }) => dnsProviders.delete(name, ifMatch),
})
