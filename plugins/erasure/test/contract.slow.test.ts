/** A set passes the contract suite of storage backends in every shape, and with as many drives offline as it has parity. */
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import t from 'tap'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
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

t.test('a change that comes while a set is closed is refused by its promise, and by no throw', async t => {
  const options = { procedures: contractProcedures, derive: contractDerive, parityCount: 1 }
  const set = await openTestSet(await newFolders(t, 2), options)
  await set.stop()
  await t.rejects(set.backend.execute('contract.steps', []), { code: 'unavailable' })
})
