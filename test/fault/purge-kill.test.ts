/**
 * A cache in front of a real server is told of every write that was acknowledged, whatever happens: it is away, it is slow, the server is killed while
 * writers write and while a delivery is under way.
 */
import { createServer } from 'node:http'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'

const token = 'tok3n-of-the-cache'

t.test('every acknowledged write is purged, across kill -9', async t => {
  const port = await findLastingPort()
  const purged = new Set<string>()
  let mode: 'ok' | 'broken' | 'hanging' = 'ok'
  let everything = 0
  const cache = createServer((request, response) => {
    if (mode === 'hanging') return
    const { method, url = '', headers } = request
    const isRight =
      method === 'PURGE' && headers.authorization === `Bearer ${token}` && headers.host === 'www.site.test'
    response.writeHead(mode === 'broken' ? 503 : isRight ? 200 : 401).end()
    if (mode === 'broken' || !isRight) return
    if (url === '/*') everything++
    else purged.add(url)
  })
  await new Promise<void>(done => cache.listen(port, '127.0.0.1', done))
  t.teardown(() => {
    cache.closeAllConnections()
    cache.close()
  })
  const webhook = {
    id: 'proxy',
    type: 'generic',
    url: `http://127.0.0.1:${port}{path}`,
    method: 'PURGE',
    headers: { Host: '{host}', Authorization: 'Bearer {token}' },
    token,
  }
  const server = await startServer({ environment: { SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8' } })
  t.teardown(() => server.remove())
  const call: ReturnType<typeof createAdminClient>['call'] = (...request) => createAdminClient(server).call(...request)
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  await call('POST', '/distributions', { id: 'site', aliases: ['www.site.test'], origin: { bucket: 'pages' } })
  await call('PUT', '/distributions/site/cache/settings', { webhooks: [webhook] })
  const status = async () => (await call('GET', '/distributions/site/cache/webhooks')).items[0]
  const eventually = async (isRight: () => Promise<boolean>, what: string) => {
    const deadlineMs = Date.now() + 60_000
    while (!(await isRight().catch(() => false))) {
      if (Date.now() > deadlineMs) throw new Error(`${what}: ${JSON.stringify(await status())}`)
      await new Promise(done => setTimeout(done, 50))
    }
  }
  await eventually(async () => (await status())?.id === 'proxy', 'the webhook is set up')
  t.match(await call('POST', '/distributions/site/cache/webhooks/proxy/test'), { delivered: true, status: 200 })
  t.ok(purged.has('/'))

  const acknowledged: string[] = []
  let count = 0
  const write = async () => {
    const key = `k/${++count}.html`
    await s3.send(new PutObjectCommand({ Bucket: 'pages', Key: key, Body: 'x' }))
    acknowledged.push(`/${key}`)
  }
  for (const [round, during] of (['ok', 'broken', 'hanging'] as const).entries()) {
    mode = during
    let isWriting = true
    const writers = Array.from({ length: 4 }, async () => {
      while (isWriting) {
        const isWritten = await write().then(
          () => true,
          () => false,
        )
        // The server is gone in the middle.
        if (!isWritten) return
      }
    })
    const before = acknowledged.length
    await eventually(async () => acknowledged.length > before + 40, `writes of round ${round}`)
    await server.kill()
    isWriting = false
    await Promise.all(writers)
    cache.closeAllConnections()
    mode = 'ok'
    await server.start()
    await eventually(async () => (await status()).queued === 0, `round ${round} is delivered`)
    t.same(
      acknowledged.filter(path => !purged.has(path)),
      [],
      `${during}: all of ${acknowledged.length - before} writes`,
    )
  }
  t.equal(everything, 0, 'nothing had to be given up')
  t.notMatch(server.log(), token)
})
