/** The tier of the cache on disk, as operators have it: what lies there, what finds it, what a purge leaves, and what is refused. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { Bucket, get, Host, recordFiles } from './cache-tier.ts'

t.test('what lies on disk, what finds it, and what a purge leaves', async t => {
  const environment = {
    SVC_WEB_ADDRESS: '127.0.0.1:0',
    SVC_WORKERS: '2',
    SVC_KMS_SECRET_KEY: `key:${Buffer.alloc(32, 7).toString('base64')}`,
    SVC_PROMETHEUS_AUTH_TYPE: 'public',
    SVC_SSEC_ALLOW_INSECURE: 'true',
  }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  await server.stop()
  const dir = join(server.folder, 'cache')
  await server.start({ ...environment, SVC_CACHE_DIR: dir })
  const s3 = createClient(server)
  const marker = 'marked words '.repeat(20)
  await s3.send(new CreateBucketCommand({ Bucket }))
  const put = (Key: string, more = {}) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body: `${Key} ${marker}`, ...more }))
  await put('plain.txt')
  await put('sealed.txt', { ServerSideEncryption: 'AES256' })
  const customerKey = Buffer.alloc(32, 9).toString('base64')
  await put('customer.txt', { SSECustomerAlgorithm: 'AES256', SSECustomerKey: customerKey })
  const document = { id: 'pages', aliases: [Host], origin: { bucket: Bucket } }
  await createAdminClient(server).call('PUT', '/distributions/pages', document)
  const ask = async (key: string) => {
    const agent = new Agent()
    try {
      return await get(agent, Number(String(server.startup.web).split(':').at(-1)), key)
    } finally {
      agent.destroy()
    }
  }
  const inDisk = (text: string) => recordFiles(dir).filter(file => readFileSync(file).includes(text)).length

  await t.test('encrypted objects lie there encrypted, those with keys of customers not at all', async t => {
    while (recordFiles(dir).length < 2)
      for (const key of ['plain.txt', 'sealed.txt']) t.equal((await ask(key)).status, 200)
    t.equal((await ask('customer.txt')).status, 403)
    t.equal(inDisk(`plain.txt ${marker}`), 1)
    t.equal(inDisk('marked words'), 1, 'no other record has words of a body')
    t.equal(inDisk('customer.txt'), 0)
    t.equal(recordFiles(dir).length, 2)
  })

  await t.test('after a kill the plain one is found, and the encrypted one is of no use', async t => {
    let plain: Awaited<ReturnType<typeof ask>>
    // A look-up that takes 50 ms is a miss, as on a busy machine; the record is there for the next process.
    for (let attempt = 1; ; attempt++) {
      await server.kill()
      await server.start()
      plain = await ask('plain.txt')
      if (plain.result === 'HIT' || attempt === 10) break
    }
    t.match([plain.result, plain.body.toString()], ['HIT', `plain.txt ${marker}`])
    const sealed = await ask('sealed.txt')
    t.match([sealed.result, sealed.body.toString()], ['MISS', `sealed.txt ${marker}`])
    const metrics = await (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
    t.match(metrics, /svc_cache_bytes_served_total\{[^}]*source="disk"[^}]*\} [1-9]/)
    t.match(metrics, /svc_cache_entries\{[^}]*tier="disk"[^}]*\} [1-9]/)
  })

  await t.test('inspect and stats tell of the tier', async t => {
    await server.stop()
    await server.start()
    const admin = createAdminClient(server)
    const inspected = await admin.call('GET', `/cache/inspect?url=http://${Host}/plain.txt`)
    t.match(inspected.nodes[0].entry, { present: true, tier: 'disk', sizeBytes: `plain.txt ${marker}`.length })
    const [node] = (await admin.call('GET', '/cache/stats')).nodes
    t.match(node, { diskLimitBytes: 10 * 1024 ** 3, tiers: [{ tier: 'disk', paused: false }] })
    t.ok(node.diskBytes >= 2 * 4096, `${node.diskBytes} bytes`)
  })

  await t.test('a purge reaches what is only on disk', async t => {
    const admin = createAdminClient(server)
    const { id } = await admin.call('POST', '/cache/invalidations', { paths: ['/plain.txt'] })
    t.equal((await ask('plain.txt')).result, 'MISS')
    let purge = await admin.call('GET', `/cache/invalidations/${id}`)
    while (purge.state === 'in-progress') purge = await admin.call('GET', `/cache/invalidations/${id}`)
    t.equal(purge.state, 'completed')
  })

  await t.test('a purge is in force after a kill, for what nobody has looked at', async t => {
    while ((await ask('plain.txt')).result !== 'HIT');
    await server.kill()
    await server.start()
    await createAdminClient(server).call('POST', '/cache/invalidations', { all: true })
    await server.kill()
    await server.start()
    t.equal((await ask('plain.txt')).result, 'MISS')
  })

  await t.test('the folder of the drive is refused with a sentence, and the server does not start', async t => {
    await server.stop()
    await t.rejects(server.start({ ...environment, SVC_CACHE_DIR: server.drive }))
    t.match(server.log(), /SVC_CACHE_DIR: .* is the folder of a drive\. Name a folder of its own\./)
    await t.rejects(server.start({ ...environment, SVC_CACHE_DIR: join(server.drive, 'blobs', 'cache') }))
    t.match(server.log(), /lies in .*, which is the folder of a drive/)
  })
})
