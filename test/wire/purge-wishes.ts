/**
 * A plugin for tests: gives the distribution `site` the webhooks that TEST_WEBHOOKS names, and tells of each object of the bucket `pages` in the commit
 * of its change, as the cache does.
 */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/distributions/api'
import 'svc/plugins/objects/api'
import type { WebhookDocument } from 'svc/plugins/purge/api'
import 'svc/plugins/store/api'

export default definePlugin({
  name: 'purge-wishes',
  requires: ['distributions', 'objects', 'purge', 'store'],
  setup({ services: { distributions, purge, store }, contribute, background }) {
    contribute('object.observer', 'purge-wishes', {
      wants: bucket => bucket === 'pages' && purge.wants('site'),
      observe(tx, { key }) {
        const items = [`/${key}`]
        purge.changed(tx, {
          id: '',
          distribution: 'site',
          kind: 'path',
          items,
          isCaseInsensitive: false,
          isSoft: false,
        })
      },
    })
    background({
      name: 'wishes',
      pauseMs: 100,
      async work() {
        const site = await distributions.get('site')
        if (site === undefined) return 'idle'
        const webhooks = JSON.parse(process.env.TEST_WEBHOOKS ?? '[]') as WebhookDocument[]
        if ((await purge.webhooks(site)).length === 0) await store.transaction(await purge.prepare(site, webhooks))
        return 'done'
      },
    })
    return {}
  },
})
