import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `purge.webhook`.
import 'svc/plugins/purge/api'
import { settingsProblems, VarnishSettings } from './settings.ts'
import { connectVarnish, tagOf } from './webhook.ts'

export default definePlugin({
  name: 'example-purge',
  version: '0.1.0',
  requires: ['purge'],
  setup({ contribute }) {
    contribute('purge.webhook', 'varnish', {
      description: 'A Varnish of your own, with the configuration of this package.',
      settings: VarnishSettings,
      validate: settingsProblems,
      limits: { perSecond: 200, burst: 400 },
      tagHeader: tags => ['X-Cache-Tags', tags.map(tagOf).join(',')],
      connect: connectVarnish,
    })
    return {}
  },
})
