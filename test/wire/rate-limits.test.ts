/** One limit for all threads of a node. */
import { presignUrl } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

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

t.test('wrong signatures are counted for all workers together', async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2' } })
  t.teardown(() => server.remove())
  /** Over a connection of its own, so that both workers get some. */
  const list = async (secret: string) => {
    const url = presignUrl(
      { accessKey, secret, region },
      { method: 'GET', url: `${server.endpoint}/`, expiresSeconds: 600, nowMs: Date.now() },
    )
    const answer = await fetch(url, { headers: { connection: 'close' } })
    await answer.text()
    return answer.status
  }
  t.equal(await list(secretKey), 200)
  t.same(new Set(await Promise.all(Array.from({ length: 100 }, () => list('wrong')))), new Set([403]))
  t.same(new Set(await Promise.all(Array.from({ length: 20 }, () => list(secretKey)))), new Set([503]))
})
