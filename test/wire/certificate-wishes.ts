/** A plugin for tests: wishes for the certificates that the file TEST_WISHES_FILE names, whenever it changes, as who publishes on domains does. */
import { readFile } from 'node:fs/promises'
import { definePlugin } from 'svc/kernel'
import type { CertificateWish } from 'svc/plugins/certificates/api'
import 'svc/plugins/store/api'

const file = process.env.TEST_WISHES_FILE

export default definePlugin({
  name: 'certificate-wishes',
  requires: ['certificates', 'store'],
  setup({ services: { certificates, store }, background }) {
    let known = '{}'
    background({
      name: 'wishes',
      pauseMs: 50,
      async work() {
        const text = file === undefined ? known : await readFile(file, 'utf8')
        if (text === known) return file === undefined ? 'done' : 'idle'
        for (const [id, wish] of Object.entries(JSON.parse(text) as Record<string, string[] | CertificateWish>)) {
          const asked = Array.isArray(wish) ? { domains: wish } : wish
          await store.transaction(await certificates.prepareWish(id, asked))
        }
        known = text
        return 'idle'
      },
    })
    return {}
  },
})
