/** A provider with an API like that of Route 53: all TXT values at a name are one record set, which is replaced as a whole. */
import type { Clock } from 'svc/kernel'
import { type DnsProvider, type DnsRecord, PermanentDnsError, pause, quotedText } from 'svc/plugins/dns/api'
import type { HttpClient } from 'svc/plugins/http-client/api'
import { changeDocument, changeOf, hostedZonesOf, type RecordSet, recordSetOf, sameName } from './documents.ts'
import { createRequests } from './requests.ts'
import type { CloudSettings } from './settings.ts'

/** How often it is asked whether all of its servers have a change; the caller's signal ends that. */
const inSyncMs = 4000

export function connectCloud(settings: CloudSettings, client: HttpClient, apiUrl: string, clock: Clock): DnsProvider {
  const send = createRequests(client, apiUrl, settings, clock)
  const fixedZone = (settings.hostedZoneId ?? '').replace('/hostedzone/', '')

  async function zoneOf({ zone }: DnsRecord, signal: AbortSignal): Promise<string> {
    if (fixedZone !== '') return fixedZone
    const query = { dnsname: `${zone}.`, maxitems: '10' }
    const found = hostedZonesOf(await send({ method: 'GET', path: '/hostedzonesbyname', query }, signal))
    // A private zone of the same name is not visible to the public.
    const open = found.find(({ Name, Config }) => sameName(Name, zone) && Config?.PrivateZone !== 'true')
    const id = /^\/hostedzone\/([A-Z0-9]+)$/.exec(open?.Id ?? '')?.[1]
    if (id === undefined) throw new PermanentDnsError(`the access key gives no access to a public zone ${zone}`)
    return id
  }

  async function read(zone: string, { name }: DnsRecord, signal: AbortSignal): Promise<RecordSet | undefined> {
    const query = { name: `${name}.`, type: 'TXT', maxitems: '1' }
    return recordSetOf(await send({ method: 'GET', path: `/hostedzone/${zone}/rrset`, query }, signal), name)
  }

  async function change(
    zone: string,
    action: 'UPSERT' | 'DELETE',
    { name }: DnsRecord,
    set: RecordSet,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const body = changeDocument(action, name, set)
    const { id, isInSync } = changeOf(await send({ method: 'POST', path: `/hostedzone/${zone}/rrset`, body }, signal))
    return isInSync ? undefined : id
  }

  return {
    async present(record, signal) {
      const zone = await zoneOf(record, signal)
      const before = await read(zone, record, signal)
      const value = quotedText(record.value)
      if (before?.values.includes(value)) return
      const { ttlSeconds, values } = before ?? { ttlSeconds: record.ttlSeconds, values: [] }
      const id = await change(zone, 'UPSERT', record, { ttlSeconds, values: [...values, value] }, signal)
      if (id === undefined) return
      do await pause(clock, inSyncMs, signal)
      while (!changeOf(await send({ method: 'GET', path: id }, signal)).isInSync)
    },
    async cleanup(record, signal) {
      const zone = await zoneOf(record, signal)
      const before = await read(zone, record, signal)
      const value = quotedText(record.value)
      if (!before?.values.includes(value)) return
      const values = before.values.filter(other => other !== value)
      // The last one takes the set with it, which has to be named as it is.
      if (values.length === 0) await change(zone, 'DELETE', record, before, signal)
      else await change(zone, 'UPSERT', record, { ...before, values }, signal)
    },
    close: () => client.close(),
  }
}
