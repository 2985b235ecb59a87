/** A set keeps what every storage backend keeps, whatever its shape, and with as many drives away as it bears. */
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import t from 'tap'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

for (const [driveCount, parityCount] of [
  [2, 1],
  [4, 2],
  [6, 3],
] as const) {
  t.test(`${driveCount} drives, ${parityCount} of them parity`, t =>
    storageBackendContract(t, async t => {
      const paths = await newFolders(t, driveCount)
      const options = { procedures: contractProcedures, derive: contractDerive, parityCount }
      let set = await openTestSet(paths, options)
      t.teardown(() => set.stop())
      return {
        backend: set.backend,
        async restart() {
          await set.stop()
          set = await openTestSet(paths, options)
          return set.backend
        },
      }
    }),
  )
}
