/** An unreadable document is shown by the health check and by the metrics, and the node stays ready. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import standard from 'svc/plugins/standard'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'

t.test('an unreadable document is reported, and the node stays ready', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-store-status-'))
  const user = definePlugin({
    name: 'user',
    requires: ['store', 'storage'],
    setup({ services }) {
      services.store.collection({ name: 'thing', version: 1, schema: Type.Object({}) })
      services.storage.define({ 'user.put': (tx, key: string) => tx.put(Buffer.from(key), Buffer.from('damaged')) })
    },
  })
  const kernel = await startKernel({
    plugins: [...standard, user],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'password' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      prometheus: { authType: 'public' },
      storage: { endpoints: [folder] },
    },
  })
  t.teardown(async () => {
    await kernel.stop()
    await rm(folder, { recursive: true })
  })
  const listener = kernel.services.http.listeners().find(({ name }) => name === 's3')
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${listener!.port}${path}`)).text()
  const ready = async () => JSON.parse(await get('/svc/health/ready'))
  t.match(await ready(), { ok: true, checks: { store: 'ok' } })
  for (const id of ['a', 'b']) await kernel.services.storage.execute('user.put', `dgthing\0${id}`)
  for (let tries = 0; tries < 9000 && (await ready()).checks.store === 'ok'; tries++) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  t.match(await ready(), { ok: true, status: 'ready', checks: { store: 'degraded: 2 documents cannot be read' } })
  t.match(await get('/svc/metrics/v1/node'), /^svc_store_quarantined_documents\{collection="thing".*\} 2$/m)
})
