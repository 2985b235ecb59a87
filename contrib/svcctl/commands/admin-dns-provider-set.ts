import {
  type DnsProviderDocument,
  type DnsProviderOptions,
  dnsProviderOptions,
  dnsProviderWords,
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
  summary: 'Changes the given settings of a DNS provider, and no others.',
  description:
    'Without a secret the stored secrets are kept; a given secret replaces them all. Another --type starts without settings and secrets. ' +
    'A concurrent change is an error. Needs admin:ManageCertificates.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'name', summary: 'of the provider', kind: 'text' },
  ],
  options: [...dnsProviderOptions, { flags: '--if-match <etag>', summary: 'only if the provider has this ETag' }],
  typed: dnsProviderWords,
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
