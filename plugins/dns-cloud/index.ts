/** The DNS service of a cloud, with an access key. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/dns/api'
import 'svc/plugins/http-client/api'
import { DnsCloudConfig, publicApiUrl } from './config.ts'
import { connectCloud } from './provider.ts'
import { CloudSettings, settingsProblems } from './settings.ts'

const timeoutMs = 20_000

export default definePlugin({
  name: 'dns-cloud',
  description: 'DNS zones at Route 53, changed with an access key.',
  requires: ['dns', 'httpClient'],
  config: DnsCloudConfig,
  setup({ config: { apiUrl }, services: { httpClient }, contribute }) {
    contribute('dns.provider', 'cloud_dns', {
      description: 'A hosted zone at Route 53, changed with an access key.',
      settings: CloudSettings,
      validate: settingsProblems,
      connect(settings, { clock }) {
        const reach = apiUrl === publicApiUrl ? 'public' : 'private'
        return connectCloud(
          settings,
          httpClient.client({ purpose: 'dns', reach, timeoutMs, connectionsMax: 1 }),
          apiUrl,
          clock,
        )
      },
    })
  },
})
