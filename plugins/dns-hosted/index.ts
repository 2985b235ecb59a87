/** A hosted DNS service with an API token. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/dns/api'
import 'svc/plugins/http-client/api'
import { DnsHostedConfig, publicApiUrl } from './config.ts'
import { connectHosted } from './provider.ts'
import { HostedSettings, settingsProblems } from './settings.ts'

const timeoutMs = 20_000

export default definePlugin({
  name: 'dns-hosted',
  description: 'DNS zones at Cloudflare, changed with an API token.',
  requires: ['dns', 'httpClient'],
  config: DnsHostedConfig,
  setup({ config: { apiUrl }, services: { httpClient }, contribute }) {
    contribute('dns.provider', 'hosted_dns', {
      description: 'A hosted zone at Cloudflare, changed with an API token.',
      settings: HostedSettings,
      validate: settingsProblems,
      connect(settings) {
        const reach = apiUrl === publicApiUrl ? 'public' : 'private'
        return connectHosted(
          settings,
          httpClient.client({ purpose: 'dns', reach, timeoutMs, connectionsMax: 1 }),
          apiUrl,
        )
      },
    })
  },
})
