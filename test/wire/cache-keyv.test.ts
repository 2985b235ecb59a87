/** A website whose cache has a tier in a real redis-server: over a crash of the server, and without Redis. */
import { Agent } from 'node:http'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { Bucket, get, Host } from '../fault/cache-tier.ts'
import { skip, startRedis } from '../services/redis-server.ts'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const workerCount = 2

t.test('a website with a tier in Redis', { skip }, async t => {
  const redis = await startRedis(t)
  const server = await startServer({
    environment: {
      SVC_WEB_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: String(workerCount),
      SVC_CONFIG_FILE: join(import.meta.dirname, 'cache-keyv.json'),
      SVC_CACHE_KEYV_URL: redis.url,
      SVC_PROMETHEUS_AUTH_TYPE: 'public',
    },
  })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  await s3.send(new CreateBucketCommand({ Bucket }))
  const put = (Body: string) => s3.send(new PutObjectCommand({ Bucket, Key: 'page.txt', Body }))
  await put('one')
  const document = { id: 'pages', aliases: [Host], origin: { bucket: Bucket } }
  await createAdminClient(server).call('PUT', '/distributions/pages', document)
  const ask = async () => {
    const agent = new Agent()
    const { result, body } = await get(agent, Number(String(server.startup.web).split(':').at(-1)), 'page.txt')
    agent.destroy()
    return [result, body.toString()] as const
  }
  const stored = () => Number(redis.ask('DBSIZE')[0])

  while (stored() === 0) {
    t.equal((await ask())[1], 'one')
    await put('one')
  }
  while ((await ask())[0] !== 'HIT');
  /** How often a thread has connected. */
  const connections = () => server.log().split('has a tier behind keyv').length - 1
  const scrape = async () => (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
  const fromRedis = /svc_cache_bytes_served_total\{[^}]*source="keyv"[^}]*\} [1-9]/
  const before = connections()
  await server.kill()
  await server.start()
  while (connections() < before + workerCount) await new Promise(resolve => setTimeout(resolve, 20))
  t.same(await ask(), ['HIT', 'one'])
  t.match(await scrape(), fromRedis)
  t.notMatch(server.log(), new RegExp(redis.password))
  await put('two')
  t.equal((await ask())[1], 'two')
  await redis.stop()
  await put('three')
  for (let i = 0; i < 20; i++) t.equal((await ask())[1], 'three', 'Redis is away')
  await put('four')
  t.equal((await ask())[1], 'four')
  t.match(await scrape(), /svc_cache_tier_failures_total\{[^}]*tier="keyv"[^}]*\} [1-9]/)
})
