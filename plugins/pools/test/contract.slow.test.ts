/** A storage of several sets passes the contract suite of storage backends, wherever blobs lie. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import t from 'tap'
import { newFolder, openTestPools, pathsIn } from './fixtures/open-pools.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
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

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/contract-in-workers.ts', import.meta.url).pathname

// Servers start slowly on a machine that is busy with other tests.
t.test('two workers over a pool of 2 and one of 3 drives', async t => {
  const folder = await newFolder(t)
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify({ plugins: [fixture] }))
  const ranges = ['d{1...2}', 'e{1...3}'].map(range => join(folder, range))
  const command = ['--conditions=svc-src', main, 'server', '--config', config, '--workers', '2', ...ranges]
  const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: 150_000 })
  const said = JSON.parse(stdout.trim())
  t.strictSame(said, { results: ['kept', 'kept'], pools: [0, 0, 1, 1, 1] })
})
