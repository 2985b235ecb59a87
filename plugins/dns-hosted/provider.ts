/** A provider with an API like Cloudflare's: each TXT value is one record with an id. */
import { type DnsProvider, type DnsRecord, PermanentDnsError, quotedText } from 'svc/plugins/dns/api'
import type { HttpClient } from 'svc/plugins/http-client/api'
import { createRequests } from './requests.ts'
import type { HostedSettings } from './settings.ts'

/** Minimum of the provider. */
const ttlSecondsMin = 60
const pageSize = 100
const pagesMax = 10
/** "An identical record already exists." */
const duplicateCode = 81_058
/** "Record does not exist." */
const missingCode = 81_044

interface TxtRecord {
  readonly id: string
  readonly content: string
}

export function connectHosted(
  { zoneId = '', apiToken }: HostedSettings,
  client: HttpClient,
  apiUrl: string,
): DnsProvider {
  const send = createRequests(client, apiUrl, apiToken)

  async function zoneOf({ zone }: DnsRecord, signal: AbortSignal): Promise<string> {
    if (zoneId !== '') return zoneId
    const { result } = await send({ method: 'GET', path: `/zones?name=${encodeURIComponent(zone)}` }, signal)
    const found = listOf<{ id: string; name: string }>(result).find(({ name }) => name === zone)
    if (found === undefined) throw new PermanentDnsError(`the API token gives no access to a zone ${zone}`)
    return found.id
  }

  /** Ids of the records at the name that have the value. */
  async function find(zone: string, { name, value }: DnsRecord, signal: AbortSignal): Promise<readonly string[]> {
    const quoted = quotedText(value)
    const ids: string[] = []
    for (let page = 1, pageCount = 1; page <= Math.min(pageCount, pagesMax); page++) {
      const query = new URLSearchParams({ type: 'TXT', name, per_page: `${pageSize}`, page: `${page}` })
      const answer = await send({ method: 'GET', path: `/zones/${zone}/dns_records?${query}` }, signal)
      pageCount = answer.pageCount
      // Records that were made without quotes are shown without them.
      const same = listOf<TxtRecord>(answer.result).filter(({ content }) => content === quoted || content === value)
      ids.push(...same.map(({ id }) => id))
    }
    return ids
  }

  return {
    async present(record, signal) {
      const { name, value, ttlSeconds } = record
      const zone = await zoneOf(record, signal)
      const body = { type: 'TXT', name, content: quotedText(value), ttl: Math.max(ttlSeconds, ttlSecondsMin) }
      await send({ method: 'POST', path: `/zones/${zone}/dns_records`, body, doneCodes: [duplicateCode] }, signal)
    },
    async cleanup(record, signal) {
      const zone = await zoneOf(record, signal)
      for (const id of await find(zone, record, signal)) {
        const path = `/zones/${zone}/dns_records/${encodeURIComponent(id)}`
        await send({ method: 'DELETE', path, doneCodes: [missingCode] }, signal)
      }
    },
    close: () => client.close(),
  }
}

/** Throws for an answer that is no list of objects with an id. */
function listOf<T extends { readonly id: string }>(result: unknown): readonly T[] {
  const isList = Array.isArray(result) && result.every(item => typeof item?.id === 'string')
  if (!isList) throw new Error('the API gave an answer that is no list')
  return result as readonly T[]
}
