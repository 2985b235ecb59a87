import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { DnsProvider, describeProvider } from './dns-provider-schema.ts'

export default defineAdminOperation({
  id: 'listDnsProviders',
  method: 'GET',
  path: '/dns-providers',
  tag: 'certificates',
  summary: 'Lists the DNS providers by name, without their secrets.',
  authorize: ['admin:ManageCertificates'],
  query: Type.Object(pageParameters),
  response: pageOf(DnsProvider),
  uses: ['dnsProviders'],
  async handle({ query: { cursor, limit } }, { dnsProviders }) {
    const { items, next } = await dnsProviders.list({ startAfter: decodeCursor(cursor) ?? '', limit })
    return { items: items.map(describeProvider), nextCursor: encodeCursor(next) }
  },
})
