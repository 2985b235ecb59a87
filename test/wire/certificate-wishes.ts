/** A plugin for tests: wishes for the certificates that the file TEST_WISHES_FILE names, whenever it changes, as who publishes on domains does. */
import { readFile } from 'node:fs/promises'
import { definePlugin } from 'svc/kernel'
import type { CertificateWish } from 'svc/plugins/certificates/api'
import 'svc/plugins/store/api'

const file = process.env.TEST_WISHES_FILE

export default definePlugin({
  name: 'certificate-wishes',
  requires: ['certificates', 'store'],
  setup({ services: { certificates, store }, threads, background }) {
    if (!threads.isMain || file === undefined) return {}
    let known = '{}'
    async function fulfil(): Promise<void> {
      const text = await readFile(file!, 'utf8')
      if (text === known) return
      for (const [id, wish] of Object.entries(JSON.parse(text) as Record<string, string[] | CertificateWish>)) {
        const asked = Array.isArray(wish) ? { domains: wish } : wish
        await store.transaction(await certificates.prepareWish(id, asked))
      }
      known = text
    }
    background({
      name: 'wishes',
      pauseMs: 50,
      async work() {
        await fulfil()
        return 'idle'
      },
    })
    // A server that is ready has those that were there before.
    return { serve: fulfil }
  },
})
