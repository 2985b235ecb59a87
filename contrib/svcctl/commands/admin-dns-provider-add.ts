import {
  type DnsProviderOptions,
  dnsProviderOptions,
  dnsProviderWords,
  documentOfOptions,
  linesOfProvider,
} from '../admin/dns-provider-options.ts'
import { defineCommand } from '../command.ts'

export default defineCommand<DnsProviderOptions>({
  name: 'admin dns-provider add',
  summary: 'Configures a DNS provider, at which values for certificates are published.',
  description:
    'Secrets come from standard input or from files: others on the machine can read the command line. They are sealed, and never shown ' +
    'again. Nothing is asked of the provider: `admin dns-provider test` does that. Needs admin:ManageCertificates.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'name', summary: 'of the provider', kind: 'text' },
  ],
  options: dnsProviderOptions,
  typed: dnsProviderWords,
  examples: [
    'svcctl admin dns-provider add home main --type hosted_dns --token-file token.txt',
    'svcctl admin dns-provider add home main --type cloud_dns --access-key-id AKIAEXAMPLE --token-file secret.txt',
    'svcctl admin dns-provider add home main --type rfc2136 --nameserver ns1.example.com --tsig-key-name svc-key --token-stdin',
  ],
  async run(context, [alias, name], options) {
    const document = await documentOfOptions(context, options)
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({
      operation: 'createDnsProvider',
      method: 'POST',
      path: '/dns-providers',
      body: { name, ...document },
    })
    const provider = body as Readonly<Record<string, unknown>>
    context.output.done(provider, linesOfProvider(provider).join('\n'))
  },
})
