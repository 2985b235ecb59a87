/** A disk of the cache that is really slow: answers are right and come without it, it is left alone, and used again when it is well. */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { createSeededRandom, eventually } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { Bucket, get, Host, recordFiles } from './cache-tier.ts'
import { createDiskFaults, whyNoFaults } from './disk-faults.ts'

const KiB = 1024
/** More than the memory of the cache takes. */
const pages = Array.from({ length: 60 }, (_, index) => `page-${index}.bin`)
const folder = mkdtempSync(join(tmpdir(), 'svc-slow-disk-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

for (const workers of ['0', '2']) {
  t.test(`reads of 200 ms, ${workers} workers`, { skip: whyNoFaults() }, async t => {
    const faults = createDiskFaults(folder)
    const dir = join(folder, `cache-${workers}`)
    const environment = {
      ...faults.environment,
      SVC_WEB_ADDRESS: '127.0.0.1:0',
      SVC_WORKERS: workers,
      SVC_PROMETHEUS_AUTH_TYPE: 'public',
      SVC_CACHE_DIR: dir,
      SVC_CACHE_MEMORY: '1MiB',
    }
    const server = await startServer({ environment })
    t.teardown(() => server.remove())
    const s3 = createClient(server)
    await s3.send(new CreateBucketCommand({ Bucket }))
    const random = createSeededRandom(1)
    const bodies = new Map(pages.map(page => [page, random.bytes(60 * KiB)]))
    for (const [Key, Body] of bodies) await s3.send(new PutObjectCommand({ Bucket, Key, Body }))
    const admin = createAdminClient(server)
    await admin.call('PUT', '/distributions/pages', { id: 'pages', aliases: [Host], origin: { bucket: Bucket } })
    const port = Number(String(server.startup.web).split(':').at(-1))
    const agent = new Agent({ keepAlive: true, maxSockets: 4 })
    t.teardown(() => agent.destroy())
    const visitAll = () =>
      Promise.all(
        pages.map(async page => {
          const { status, body } = await get(agent, port, page)
          if (status !== 200 || bodies.get(page)?.equals(body) !== true) t.fail(`${page}: ${status}`)
        }),
      )
    const scrape = async () => (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
    const sum = (text: string, name: string) =>
      [...text.matchAll(new RegExp(`^${name}\\{[^}]*(?:tier|source)="disk"[^}]*\\} (\\d+)`, 'gm'))].reduce(
        (all, [, value]) => all + Number(value),
        0,
      )
    const served = async () => sum(await scrape(), 'svc_cache_bytes_served_total')
    const failures = async () => sum(await scrape(), 'svc_cache_tier_failures_total')
    const isServed = async () => {
      const before = await served()
      await visitAll()
      return (await served()) > before
    }
    await eventually(
      async () => {
        await visitAll()
        return recordFiles(dir).length
      },
      count => count >= pages.length,
      120_000,
    )
    await eventually(isServed, is => is, 60_000)
    const before = await failures()

    faults.inject({ kind: 'slow', calls: ['reads'], path: dir })
    const isLeftAlone = () => server.log().includes('a tier of the cache has failed 5 times: it is left alone for 10 s')
    await eventually(visitAll, isLeftAlone, 120_000)
    const slowed = faults.end()
    const failed = (await failures()) - before
    t.comment(`${slowed} slow reads, ${failed} failures`)
    t.ok(slowed >= 5, 'it was asked')
    t.ok(failed >= 5, `${failed} failures`)
    t.ok(await eventually(isServed, is => is, 60_000), 'it is used again when it is well')
    t.not(await server.stop(), null)
  })
}
