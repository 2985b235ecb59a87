/**
 * Drives that hang, as many at once as a set does without: what the others have is read and written meanwhile, by several clients, and
 * when the drives answer again they come back, and all of it is still read.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from 'svc/testing'
import t from 'tap'
import { bytesOf } from '../wire/clients.ts'
import { startServer, workerCount } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { createDiskFaults, whyNoFaults } from './disk-faults.ts'
import { createOperations } from './operations.ts'

// Servers start slowly on a busy machine.
t.setTimeout(600_000)

const clientCount = 8
const perClient = 3
const bytes = 300_000

for (const pools of [['a'], ['a', 'b']]) {
  t.test(
    `four of twelve drives hang, pools: ${pools.length}, ${workerCount} workers`,
    { skip: whyNoFaults() },
    async t => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-hanging-drives-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const faults = createDiskFaults(folder)
      const server = await startServer({
        drives: pools.map(pool => join(folder, pool, 'd{1...12}')),
        environment: { ...faults.environment, SVC_WORKERS: String(workerCount) },
      })
      t.teardown(() => server.remove())
      t.teardown(() => faults.end())
      const clients = Array.from({ length: clientCount }, () => createSignedClient(server.port))
      t.teardown(() => {
        for (const client of clients) client.disconnect()
      })
      const operations = clients.map(client => createOperations(client, 'hanging'))
      await operations[0]!.createBucket()
      const each = (run: (one: (typeof operations)[number], key: string) => Promise<void>, name: string) =>
        Promise.all(
          operations.map(async (one, client) => {
            for (let i = 0; i < perClient; i++) await run(one, `${name}-${client}-${i}`)
          }),
        )
      const put = (one: (typeof operations)[number], key: string) => one.put(key, bytesOf(key, bytes))
      const read = async (one: (typeof operations)[number], key: string) => {
        if (!(await one.get(key))?.equals(bytesOf(key, bytes))) throw new Error(`${key} is not what was stored`)
      }
      await each(put, 'before')

      // d1, d10, d11 and d12 of each pool.
      faults.inject({ kind: 'hang', calls: ['reads', 'writes', 'syncs', 'entries'], path: '/d1' })
      await each(read, 'before')
      await each(put, 'meanwhile')
      await each(read, 'meanwhile')
      t.ok(faults.injected >= 4, `${faults.injected} calls hang`)
      const hungUntil = server.log().length
      faults.end()
      await until(() => server.log().includes('all drives of the set have all records', hungUntil), {
        what: 'the drives are back',
        withinMs: 240_000,
      })
      for (const name of ['before', 'meanwhile']) await each(read, name)
      t.not(await server.stop(), null, 'it ends when it is asked to')
    },
  )
}
