import {
  type DnsProviderDocument,
  type DnsProviderOptions,
  dnsProviderOptions,
  documentOfOptions,
  linesOfProvider,
} from '../admin/dns-provider-options.ts'
import { defineCommand } from '../command.ts'
import { encodeName } from '../s3/client.ts'

interface Options extends DnsProviderOptions {
  readonly ifMatch?: string
}

export default defineCommand<Options>({
  name: 'admin dns-provider set',
  summary: 'Changes a DNS provider: what is given, and nothing else.',
  description:
    'Without a secret the stored ones stay; with one it replaces them all. Another --type begins with settings and secrets of its own. ' +
    'A change of somebody else in between is an error. Needs admin:ManageCertificates.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'name', summary: 'of the provider', kind: 'text' },
  ],
  options: [...dnsProviderOptions, { flags: '--if-match <etag>', summary: 'only if the provider has this ETag' }],
  examples: [
    'svcctl admin dns-provider set home main --token-file new-token.txt',
    'svcctl admin dns-provider set home main --propagation-timeout 5m',
  ],
  async run(context, [alias, name], { ifMatch, ...options }) {
    const client = await context.connectAdmin(alias!)
    const path = `/dns-providers/${encodeName(name!)}`
    const found = await client.send({ operation: 'getDnsProvider', method: 'GET', path })
    const body = await documentOfOptions(context, options, found.body as DnsProviderDocument)
    const answer = await client.send({
      operation: 'putDnsProvider',
      method: 'PUT',
      path,
      body,
      ifMatch: ifMatch ?? found.etag,
    })
    const provider = answer.body as DnsProviderDocument
    context.output.done(provider, linesOfProvider(provider).join('\n'))
  },
})
