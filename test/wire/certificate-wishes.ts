/** A plugin for tests: wishes for the certificates that TEST_WISHES names, as who publishes on domains does. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/certificates/api'
import 'svc/plugins/store/api'

export default definePlugin({
  name: 'certificate-wishes',
  requires: ['certificates', 'store'],
  setup({ services: { certificates, store }, threads }) {
    if (!threads.isMain) return {}
    return {
      async serve() {
        const wishes = JSON.parse(process.env.TEST_WISHES ?? '{}') as Record<string, string[]>
        for (const [id, domains] of Object.entries(wishes)) {
          await store.transaction(await certificates.prepareWish(id, { domains }))
        }
      },
    }
  },
})
