/** The kind `generic` of purge webhooks: requests by templates, or signed documents. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/purge/api'
import { GenericSettings, settingsProblems } from './settings.ts'
import { connectGeneric } from './webhook.ts'

export default definePlugin({
  name: 'purge-generic',
  description: 'Purge webhooks for HTTP caches and receivers of your own.',
  requires: ['purge'],
  setup({ contribute }) {
    contribute('purge.webhook', 'generic', {
      description: 'Requests by templates for each item, or one signed document for all of them.',
      settings: GenericSettings,
      validate: settingsProblems,
      limits: { perSecond: 100, burst: 200 },
      connect: connectGeneric,
    })
    return {}
  },
})
