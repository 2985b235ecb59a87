/** The example keeps the contract of `storage.backend`, and a server runs on it. */

import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import storage from 'svc/plugins/storage/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import plugin from '../index.ts'
import { createMemoryBackend } from '../memory-backend.ts'

const host = await startKernel({ plugins: [] })
t.teardown(() => host.stop())

t.test('the memory backend keeps the contract', t =>
  storageBackendContract(t, async t => {
    const backend = createMemoryBackend({
      endpoints: ['memory'],
      procedures: contractProcedures,
      derive: contractDerive,
      threads: { workerCount: 0 } as never,
      ports: host.ports,
      log: host.log,
    })
    await backend.start()
    t.teardown(() => backend.stop())
    return { backend }
  }),
)

t.test('the storage plugin finds it by its name', async t => {
  const kernel = await startKernel({
    plugins: [storage, plugin],
    config: { storage: { endpoints: ['/memory'], backend: 'memory' } },
  })
  t.match(await kernel.services.storage.drives(), [{ id: 'memory', state: 'online' }])
  t.strictSame(await kernel.stop(), [])
})
