/** TXT values that prove the control of domains, at DNS providers that operators configure. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cluster-archive/api'
import 'svc/plugins/http-client/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import createDnsProvider from './admin/create-dns-provider.ts'
import deleteDnsProvider from './admin/delete-dns-provider.ts'
import getDnsProvider from './admin/get-dns-provider.ts'
import listDnsProviders from './admin/list-dns-providers.ts'
import putDnsProvider from './admin/put-dns-provider.ts'
import testDnsProvider from './admin/test-dns-provider.ts'
import { createArchivePart } from './archive-part.ts'
import { createProviderChanges } from './changes.ts'
import { createCleaner } from './cleaner.ts'
import { DnsConfig } from './config.ts'
import { declareDnsDocuments } from './documents.ts'
import { registerFamilies } from './families.ts'
import { createKinds, type Kinds } from './kinds.ts'
import { createLookups } from './lookups.ts'
import { parseNameserver } from './nameserver.ts'
import { dnsPoints } from './points.ts'
import { createPropagation } from './propagation.ts'
import { createProviderTests } from './provider-test.ts'
import { createProviders } from './providers.ts'
import { createPublications } from './publications.ts'
import { createServices } from './service.ts'
import { createTurns } from './turns.ts'

const operations = [
  createDnsProvider,
  deleteDnsProvider,
  getDnsProvider,
  listDnsProviders,
  putDnsProvider,
  testDnsProvider,
]

export default definePlugin({
  name: 'dns',
  description: 'TXT records at DNS providers, which prove the control of domains.',
  requires: ['httpClient', 'store'],
  optional: ['metrics'],
  provides: ['dns', 'dnsProviders'],
  internal: ['dnsKinds'],
  points: dnsPoints,
  contributes: { 'admin.operation': operations },
  config: DnsConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { httpClient, store, metrics = noMetrics } = services
    const { clock, random } = ports
    const documents = declareDnsDocuments(store)
    const guard = httpClient.guard('private')
    const configured = config.nameservers.map(parseNameserver)
    const turns = createTurns()
    const lookups = createLookups(configured)
    const count = registerFamilies(metrics)
    let kinds: Kinds
    const propagation = createPropagation({ lookups, configured, guard, clock })
    const changes = createProviderChanges({ documents, kinds: () => kinds, guard, clock, log, count, turns })
    const publications = createPublications({ store, documents, clock, log, lookups, propagation, changes, turns })
    const tests = createProviderTests({ publications, clock, random, log })
    const users = () => point('dns.user').list()
    const providers = createProviders({ store, documents, clock, kinds: () => kinds, users })
    const { dns, dnsProviders, stop } = createServices({ threads, random, publications, tests, providers, lookups })
    const archivePart = createArchivePart({ documents, kinds: () => kinds, clock })
    contribute('archive.part', 'dns-provider', archivePart, { optional: true })
    if (threads.isMain) background(createCleaner({ publications, propagation, clock, log }))
    return {
      services: { dns, dnsProviders },
      internal: { dnsKinds: () => kinds.list() },
      start() {
        kinds = createKinds(point('dns.provider').list())
      },
      drain: stop,
      stop,
    }
  },
})
