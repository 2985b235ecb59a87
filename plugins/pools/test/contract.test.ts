/** Several sets keep what every storage backend keeps, wherever blobs lie. */
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import t from 'tap'
import { newFolder, openTestPools, pathsIn } from './fixtures/open-pools.ts'

// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const options = { procedures: contractProcedures, derive: contractDerive }

t.test('a pool of 2 and one of 3 drives, all blobs in the second', t =>
  storageBackendContract(t, async t => {
    const folder = await newFolder(t)
    const shapes = [pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 3)]
    const open = async () => {
      const opened = await openTestPools(shapes, options)
      opened.placement.exclude(0)
      return opened
    }
    let pools = await open()
    t.teardown(() => pools.stop())
    return {
      backend: pools.backend,
      async restart() {
        await pools.stop()
        pools = await open()
        return pools.backend
      },
    }
  }),
)
