/** Purge webhooks for content delivery networks: one file of `kinds` each. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/purge/api'
import { PurgeCdnConfig } from './config.ts'
import { createCdn1 } from './kinds/cdn-1.ts'
import { createCdn2 } from './kinds/cdn-2.ts'
import { createCdn3 } from './kinds/cdn-3.ts'
import { createCdn4 } from './kinds/cdn-4.ts'
import { createCdn5 } from './kinds/cdn-5.ts'

export default definePlugin({
  name: 'purge-cdn',
  description: 'Purge webhooks for Cloudflare, Fastly, Akamai, Bunny and CloudFront.',
  requires: ['purge'],
  config: PurgeCdnConfig,
  setup({ config, contribute }) {
    contribute('purge.webhook', 'cdn_1', createCdn1(config.cdn1Url))
    contribute('purge.webhook', 'cdn_2', createCdn2(config.cdn2Url))
    contribute('purge.webhook', 'cdn_3', createCdn3())
    contribute('purge.webhook', 'cdn_4', createCdn4(config.cdn4Url))
    contribute('purge.webhook', 'cdn_5', createCdn5(config.cdn5Url))
    return {}
  },
})
