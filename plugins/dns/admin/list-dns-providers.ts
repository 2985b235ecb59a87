import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import type { Kind } from '../kinds.ts'
import { DnsProvider, DnsProviderKind, describeKind, describeProvider } from './dns-provider-schema.ts'

declare module 'svc/kernel' {
  interface Services {
    dnsKinds: () => readonly Kind[]
  }
}

export default defineAdminOperation({
  id: 'listDnsProviders',
  method: 'GET',
  path: '/dns-providers',
  tag: 'certificates',
  summary: 'Lists the DNS providers by name, without their secrets, and the kinds that there are, with their settings.',
  authorize: ['admin:ManageCertificates'],
  query: Type.Object(pageParameters),
  response: Type.Object({
    ...pageOf(DnsProvider).properties,
    kinds: Type.Array(DnsProviderKind, { description: 'On every page.' }),
  }),
  uses: ['dnsProviders', 'dnsKinds'],
  async handle({ query: { cursor, limit } }, { dnsProviders, dnsKinds }) {
    const { items, next } = await dnsProviders.list({ startAfter: decodeCursor(cursor) ?? '', limit })
    return {
      items: items.map(describeProvider),
      nextCursor: encodeCursor(next),
      kinds: dnsKinds().map(describeKind),
    }
  },
})
