/** A plugin for tests: wishes for the certificates that TEST_WISHES names, as who publishes on domains does. */
import { definePlugin } from 'svc/kernel'
import type { CertificateWish } from 'svc/plugins/certificates/api'
import 'svc/plugins/store/api'

export default definePlugin({
  name: 'certificate-wishes',
  requires: ['certificates', 'store'],
  setup({ services: { certificates, store }, threads }) {
    if (!threads.isMain) return {}
    return {
      async serve() {
        const wishes = JSON.parse(process.env.TEST_WISHES ?? '{}') as Record<string, string[] | CertificateWish>
        for (const [id, wish] of Object.entries(wishes)) {
          const asked = Array.isArray(wish) ? { domains: wish } : wish
          await store.transaction(await certificates.prepareWish(id, asked))
        }
      },
    }
  },
})
