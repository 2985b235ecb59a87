/** One limit for all threads of a node. */
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { startServer } from './server.ts'

t.test('a limit holds for all workers together', async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2' } })
  t.teardown(() => server.remove())
  const burst = 20
  const settings = { s3_ip: '1', s3_ip_burst: String(burst) }
  await createAdminClient(server).call('PATCH', '/config/ratelimit', { settings })
  const startedMs = performance.now()
  // Each over a connection of its own, so that they come to both workers.
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => fetch(server.endpoint, { headers: { connection: 'close' } })),
  )
  const filledMax = Math.ceil((performance.now() - startedMs) / 1000) + 1
  const admitted = answers.filter(({ status }) => status === 403).length
  t.ok(admitted >= burst && admitted <= burst + filledMax, `${admitted} were admitted`)
  t.equal(answers.filter(({ status }) => status === 503).length, 100 - admitted)
})
