import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { DnsProvider, describeProvider, NewDnsProvider, readProvider } from './dns-provider-schema.ts'

export default defineAdminOperation({
  id: 'createDnsProvider',
  method: 'POST',
  path: '/dns-providers',
  tag: 'certificates',
  summary: 'Stores a DNS provider. It sends no request to the provider: the test operation does.',
  authorize: ['admin:ManageCertificates'],
  body: NewDnsProvider,
  response: DnsProvider,
  location: ({ name }) => `/dns-providers/${encodeURIComponent(name)}`,
  etag: true,
  errors: ['already_exists', 'invalid_dns_provider'],
  uses: ['dnsProviders'],
  async handle({ body: { name, ...body } }, { dnsProviders }) {
    return describeProvider(
      await checkField('/name', () => dnsProviders.create(name, readProvider(body)), ['already_exists']),
    )
  },
})
