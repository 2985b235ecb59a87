import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

/** Maximum number of certificates that are read; of further ones nothing is shown. */
const certificatesRead = 1000

/** For whoever has `admin:ManageCertificates`. */
export const certificatesQuery = queryOptions({
  queryKey: ['certificates', 'all'],
  queryFn: async ({ signal }) => (await call('listCertificates', { query: { limit: certificatesRead }, signal })).items,
})

export const providerNamesQuery = queryOptions({
  queryKey: ['names', 'dns-providers'],
  queryFn: async ({ signal }) => (await call('listDnsProviders', { signal })).items.map(({ name }) => name),
})
