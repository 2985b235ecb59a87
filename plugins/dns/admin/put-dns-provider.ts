import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { DnsProvider, DnsProviderReplacement, describeProvider, readProvider } from './dns-provider-schema.ts'

export default defineAdminOperation({
  id: 'putDnsProvider',
  method: 'PUT',
  path: '/dns-providers/{name}',
  tag: 'certificates',
  summary:
    'Creates (201) or replaces a DNS provider. Without credentials the stored ones stay, unless the type changes. It counts for the next change.',
  authorize: ['admin:ManageCertificates'],
  params: Type.Object({
    name: Type.String({
      pattern: '^(?!\\.{1,2}$)[a-z0-9._-]{1,64}$',
      errorMessage: 'must be 1 to 64 characters of a-z, 0-9, dot, underscore and hyphen, and not only one or two dots',
    }),
  }),
  body: DnsProviderReplacement,
  response: DnsProvider,
  etag: true,
  errors: ['invalid_dns_provider', 'precondition_failed'],
  uses: ['dnsProviders'],
  async handle({ params: { name }, body, ifMatch }, { dnsProviders }) {
    const { facts, isNew } = await dnsProviders.put(name, readProvider(body), ifMatch)
    return replyWith(describeProvider(facts), { status: isNew ? 201 : 200 })
  },
})
