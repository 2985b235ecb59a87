/** A server over four drives that fail, come back and are replaced, as its clients and its operators see it. */
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { until as comesTrue } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from './admin.ts'
import { bytesOf } from './clients.ts'
import { createClient } from './sdk.ts'
import { dryRunWith, startServer, withMasterKey } from './server.ts'

t.setTimeout(400_000)
const Bucket = 'photos'
const sizes = [0, 100, 5000, 120_000, 700_000, 3_000_000]

async function start(t: Test, more: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-drives-'))
  const environment = { ...withMasterKey, SVC_PROMETHEUS_AUTH_TYPE: 'public', ...more }
  const server = await startServer({ drive: join(folder, 'd{1...4}'), environment })
  const s3 = createClient(server)
  t.teardown(async () => {
    s3.destroy()
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  await s3.send(new CreateBucketCommand({ Bucket }))
  const drive = (number: number) => join(folder, `d${number}`)
  const admin = () => createAdminClient(server)
  return {
    server,
    s3,
    drive,
    blobs: (number: number) => globSync('blobs/*/*', { cwd: drive(number) }).map(name => join(drive(number), name)),
    info: () => admin().call('GET', '/info'),
    async health() {
      const answer = await fetch(`${server.endpoint}/svc/health/ready`)
      const body = (await answer.json()) as { checks: { storage: string } }
      return `${answer.status} ${body.checks.storage}`
    },
    async metric(name: string): Promise<number> {
      const text = await (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
      const line = text.split('\n').find(one => one.startsWith(`${name}{`) || one.startsWith(`${name} `))
      return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ')))
    },
    /** Starts a job and waits for its end. */
    async heal(request: object) {
      const { id } = await admin().call('POST', '/heal', request)
      for (;;) {
        const job = await admin().call('GET', `/heal/${id}`)
        if (job.finished) return job
        await sleep(100)
      }
    },
    admin,
    redundancy: () => admin().call('GET', '/redundancy'),
  }
}

async function until(t: Test, what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  await comesTrue(isSo, { what })
  t.pass(what)
}

async function put(s3: S3Client, round: string): Promise<string[]> {
  const keys = sizes.map(size => `${round}/${size}`)
  await Promise.all(
    keys.map((Key, index) => s3.send(new PutObjectCommand({ Bucket, Key, Body: bytesOf(Key, sizes[index]!) }))),
  )
  return keys
}

async function verify(t: Test, s3: S3Client, keys: readonly string[], what: string): Promise<void> {
  const wrong: string[] = []
  for (const Key of keys) {
    try {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
      const bytes = Buffer.from(await Body!.transformToByteArray())
      if (!bytes.equals(bytesOf(Key, Number(Key.split('/').at(-1))))) wrong.push(Key)
    } catch (error) {
      wrong.push(`${Key}: ${(error as Error).message}`)
    }
  }
  t.strictSame(wrong, [], `${what}: every object is what it was`)
}

t.test('drives go and come back', async t => {
  const { server, s3, drive, info, health, metric, blobs, redundancy } = await start(t)
  const keys = await put(s3, 'first')
  const whole = await info()
  t.match(whole, { mode: 'snmd', pools: [{ sets: 1, drivesPerSet: 4, parity: 2, readQuorum: 2, writeQuorum: 3 }] })
  t.same(whole.pools[0].erasureSets, [
    { index: 0, drives: 4, online: 4, offline: 0, healing: 0, leastParity: 1, state: 'ok' },
  ])
  t.same(
    whole.nodes[0].disks.map((disk: { diskIdx: number; state: string }) => [disk.diskIdx, disk.state]),
    [0, 1, 2, 3].map(slot => [slot, 'online']),
  )
  t.equal(await health(), '200 ok')
  t.ok((await metric('svc_redundancy_records')) >= 4)
  t.match(await redundancy(), { isFull: true, summary: 'Everything has all of its shards.', belowRecords: 0 })

  // While it runs: the next large body does not find the drive.
  renameSync(drive(3), `${drive(3)}.away`)
  keys.push(...(await put(s3, 'without-one')))
  await until(t, 'the drive is seen to be away', async () => (await health()) === '200 3 of 4 drives online')
  t.equal((await info()).pools[0].erasureSets[0].state, 'degraded')
  t.equal(await metric('svc_cluster_sets_degraded'), 1)
  t.equal(await metric('svc_cluster_drives_offline'), 1)
  await verify(t, s3, keys, 'with a drive away')
  const without = await redundancy()
  t.match(without, { isFull: false, sets: [{ drives: 4, online: 3, state: 'degraded' }] })
  t.ok(without.belowRecords > 0 && without.belowRecords === without.records, 'everything has a shard on it')
  await until(
    t,
    'the reading of the only bucket',
    async () => (await metric('svc_redundancy_bucket_below_target_bytes')) === without.belowBytes,
  )
  t.equal(await metric('svc_redundancy_bucket_below_target_records'), without.belowRecords)
  t.equal(await metric('svc_mrf_queue_pending'), without.belowRecords)
  t.match(without.summary, /^1 of 4 drives cannot be read\. \d+ of \d+ versions and parts lack a shard/)
  renameSync(`${drive(3)}.away`, drive(3))
  await until(t, 'it is taken back', async () => (await health()) === '200 ok')
  await until(t, 'and given what it lacks', async () => (await metric('svc_redundancy_below_target_records')) === 0)
  t.ok((await metric('svc_mrf_queue_healed_total')) > 0)
  t.equal(await metric('svc_mrf_queue_pending'), 0)
  t.match(await redundancy(), { isFull: true, belowRecords: 0, belowBytes: 0 })

  // Two away between starts: no write quorum.
  t.equal(await server.stop(), 0)
  for (const number of [1, 2]) renameSync(drive(number), `${drive(number)}.away`)
  await server.start()
  await until(t, 'two are there', async () => (await health()) === '503 no write quorum: 2 of 4 drives online')
  t.equal((await info()).pools[0].erasureSets[0].state, 'read_only')
  await verify(t, s3, keys, 'from the other two')
  await t.rejects(s3.send(new PutObjectCommand({ Bucket, Key: 'no', Body: 'no' })), { name: 'ServiceUnavailable' })
  for (const number of [1, 2]) renameSync(`${drive(number)}.away`, drive(number))
  await until(t, 'both are taken back', async () => (await health()) === '200 ok')
  keys.push(...(await put(s3, 'again')))

  // Replaced by an empty one.
  t.equal(await server.stop(), 0)
  rmSync(drive(1), { recursive: true })
  mkdirSync(drive(1))
  await server.start()
  // A start does not wait for a drive that takes long to open.
  await until(t, 'the empty one is taken in', async () => (await health()) === '200 ok')
  await until(t, 'it is filled', async () => (await metric('svc_redundancy_below_target_records')) === 0)
  await until(t, 'and says so', async () => (await info()).pools[0].erasureSets[0].healing === 0)
  t.ok(blobs(1).length > 0)
  t.equal(await server.stop(), 0)
  for (const number of [3, 4]) renameSync(drive(number), `${drive(number)}.away`)
  await server.start()
  await verify(t, s3, keys, 'with the replaced drive')
})

t.test(
  'events that a receiver refuses become dead letters, and are delivered when they are asked for again',
  async t => {
    const { server, s3 } = await start(t)
    let status = 200
    const delivered: string[] = []
    const sink = createServer(async (request, response) => {
      const { Key = '' } = JSON.parse((await buffer(request)).toString())
      if (status === 200) delivered.push(Key)
      response.writeHead(status).end()
    })
    await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
    t.teardown(() => {
      sink.closeAllConnections()
      sink.close()
    })
    const admin = createAdminClient(server)
    const endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`
    await admin.call('PATCH', '/config/notify_webhook', { settings: { enable: 'on', endpoint } })
    const [{ arn }] = (await admin.call('GET', '/notify/targets')).items
    const subscriptions = [{ id: 'all', arn, events: ['s3:ObjectCreated:*'] }]
    await admin.call('PUT', `/buckets/${Bucket}/events`, { subscriptions })
    delivered.length = 0

    status = 400
    // The second event does not fit into the record of its entry: it has a body.
    const keys = ['short', '€'.repeat(330)]
    for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
    const deadLetters = async () => (await admin.call('GET', '/notify/queues/webhook:_/dead-letters')).items
    await comesTrue(async () => (await deadLetters()).length === keys.length)
    t.same(delivered, [])

    status = 200
    await admin.call('POST', '/notify/queues/webhook:_/dead-letters/retry', {})
    await comesTrue(async () => delivered.length === keys.length && (await deadLetters()).length === 0)
    t.same(
      delivered.sort(),
      keys.map(key => `${Bucket}/${key}`),
    )
  },
)

t.test('heal jobs', async t => {
  const { server, s3, heal, blobs, admin, metric } = await start(t)
  const keys = await put(s3, 'kept')
  const lost = 'lost/3000000'
  const before = new Set(blobs(1))
  const present = new Set([1, 2, 3, 4].flatMap(blobs))
  await s3.send(new PutObjectCommand({ Bucket, Key: lost, Body: bytesOf(lost, 3_000_000) }))
  // A blob's shard has another name on each drive.
  const lostShards = [1, 2, 3, 4].map(number => blobs(number).filter(path => !present.has(path)))
  t.match(await heal({ bucket: Bucket, recursive: true, deep: true }), {
    state: 'completed',
    scanned: keys.length + 1,
    healed: 0,
    failed: 0,
    items: [],
  })
  for (const path of before) rmSync(path)
  const [cut] = blobs(2)
  truncateSync(cut!, 10_000)

  const dry = await heal({ bucket: Bucket, prefix: 'kept/', deep: true, dryRun: true })
  t.equal(dry.state, 'completed')
  t.equal(dry.scanned, keys.length)
  t.equal(dry.drives[0].missing, before.size)
  t.match(dry.items[0], { kind: 'object', bucket: Bucket, object: /^kept/, healed: false })
  t.equal(dry.items[0].drives[0].before, 'missing')
  t.equal(await metric('svc_redundancy_below_target_records'), 0, 'a dry run writes nothing down')
  const redundancy = () => admin().call('GET', '/redundancy')
  const isKnown = { isFull: false, summary: /^A dry run has found \d+ versions and parts/ }
  t.match(await redundancy(), isKnown, 'but it is known')
  t.equal((await heal({ bucket: Bucket, deep: true, prefix: 'ke' })).scanned, 0, 'nothing below it without recursive')
  t.match(await redundancy(), isKnown, 'which settles nothing')

  for (const shards of lostShards.slice(0, 3)) for (const path of shards) rmSync(path)
  const healed = await heal({ bucket: Bucket, recursive: true, deep: true })
  t.equal(healed.state, 'completed', 'what cannot be healed stops nothing')
  t.ok(healed.healed >= before.size)
  t.match({ dangling: healed.dangling, removed: healed.removed }, { dangling: 1, removed: 0 })
  const item = healed.items.find(({ object }: { object: string }) => object === lost)
  t.match(item, { dangling: true, removed: false, healed: false, versionId: 'null' })
  const refusal = { name: 'InternalError', message: /Trying again does not help/ }
  await t.rejects(s3.send(new GetObjectCommand({ Bucket, Key: lost })), refusal)
  await verify(t, s3, keys, 'healed')
  t.ok(blobs(1).length >= before.size)
  await until(t, 'what is lost is told', async () => (await metric('svc_redundancy_failing_records')) === 1)
  t.match(await redundancy(), { failingRecords: 1, sets: [{ failingRecords: 1 }] })
  t.notMatch((await redundancy()).summary, /dry run/, 'what is left is counted by its records')
  t.equal(await metric('svc_cluster_drives_healing'), 0, 'and is no reason to call a drive one that is being filled')
  t.equal(await metric('svc_drive_damaged_segments'), 0)

  // Not while a drive is away: what it has may be what is missing.
  t.equal(await server.stop(), 0)
  const away = blobs(3)[0]!.replace(/\/blobs\/.*/, '')
  renameSync(away, `${away}.away`)
  await server.start()
  const careful = await heal({ recursive: true, deep: true, remove: true })
  t.match({ dangling: careful.dangling, removed: careful.removed }, { dangling: 0, removed: 0 })
  t.match(careful.items[0], { kind: 'format' })
  await s3.send(new PutObjectCommand({ Bucket, Key: 'kept/1', Body: bytesOf('kept/1', 1) }))
  renameSync(`${away}.away`, away)
  await until(t, 'the drive is back', async () => (await metric('svc_cluster_sets_healthy')) === 1)
  const removed = await heal({ recursive: true, deep: true, remove: true })
  t.match({ dangling: removed.dangling, removed: removed.removed }, { dangling: 1, removed: 1 })
  await t.rejects(s3.send(new GetObjectCommand({ Bucket, Key: lost })), { name: 'NoSuchKey' })
  await verify(t, s3, [...keys, 'kept/1'], 'the others')

  for (let round = 0; round < 30; round++) await put(s3, `many-${round}`)
  const started = await admin().call('POST', '/heal', { recursive: true, deep: true })
  t.equal(started.state, 'running')
  t.equal((await admin().call('POST', '/heal', { recursive: true, deep: true })).id, started.id, 'it runs already')
  const other = await admin().call('POST', '/heal', { recursive: true, deep: true, dryRun: true })
  t.match(await admin().call('POST', `/heal/${other.id}/cancel`), { state: 'canceled', finished: true })
  await t.rejects(admin().call('POST', `/heal/${other.id}/cancel`), /409/)
  await server.kill()
  await server.start()
  const found = (await admin().call('GET', '/heal')).items
  t.match(found[0], { id: other.id, state: 'canceled' })
  t.match(found[1], { id: started.id, state: 'failed', error: 'interrupted' })
  t.equal(await metric('svc_heal_jobs'), 0, 'none is running')
  await t.rejects(admin().call('POST', '/heal', { bucket: 'nowhere' }), /404.*bucket_not_found/)
})

t.test('REDUCED_REDUNDANCY has one parity shard, and takes less room', async t => {
  const { s3, blobs, drive } = await start(t)
  const size = 3_000_000
  const shardBytes = (isNew: (path: string) => boolean) =>
    [1, 2, 3, 4].flatMap(number =>
      blobs(number)
        .filter(isNew)
        .map(path => statSync(path).size),
    )
  const storedBy = async (write: () => Promise<unknown>): Promise<number> => {
    const before = new Set([1, 2, 3, 4].flatMap(blobs))
    await write()
    return shardBytes(path => !before.has(path)).reduce((sum, bytes) => sum + bytes, 0) / size
  }
  const [Key, other] = [`reduced/${size}`, `standard/${size}`]
  const StorageClass = 'REDUCED_REDUNDANCY' as const
  const near = (factor: number, wanted: number) => Math.abs(factor - wanted) < 0.1
  const reduced = await storedBy(() =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body: bytesOf(Key, size), StorageClass })),
  )
  t.ok(near(reduced, 4 / 3), `${reduced} of its size`)
  const standard = await storedBy(() =>
    s3.send(new PutObjectCommand({ Bucket, Key: other, Body: bytesOf(other, size) })),
  )
  t.ok(near(standard, 2), `${standard} of its size`)
  t.equal((await s3.send(new HeadObjectCommand({ Bucket, Key }))).StorageClass, StorageClass)
  await verify(t, s3, [Key, other], 'both')

  // Changing the class writes it anew; without a change a copy takes no room.
  const CopySource = `${Bucket}/${Key}`
  const copy = `copied/${size}`
  t.equal(await storedBy(() => s3.send(new CopyObjectCommand({ Bucket, Key: copy, CopySource, StorageClass }))), 0)
  const raised = await storedBy(() =>
    s3.send(new CopyObjectCommand({ Bucket, Key, CopySource, StorageClass: 'STANDARD' })),
  )
  t.ok(near(raised, 2), `${raised} of its size`)
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: copy }))
  t.ok(Buffer.from(await got.Body!.transformToByteArray()).equals(bytesOf(Key, size)))

  const parts = `parts/${size * 2}`
  const bytes = Buffer.concat([bytesOf('part', size * 2)])
  const multipart = await storedBy(() =>
    new Upload({
      client: s3,
      params: { Bucket, Key: parts, Body: bytes, StorageClass },
      partSize: 5 * 1024 * 1024,
    }).done(),
  )
  t.ok(near(multipart / 2, 4 / 3), `an upload in parts: ${multipart / 2} of its size`)
  renameSync(drive(2), `${drive(2)}.away`)
  await verify(t, s3, [other, Key], 'without a drive')
  const whole = await s3.send(new GetObjectCommand({ Bucket, Key: parts }))
  t.ok(Buffer.from(await whole.Body!.transformToByteArray()).equals(bytes), 'the upload, too')
})

t.test('a dry run reports whether the set could be assembled', async t => {
  const { server, drive } = await start(t)
  const said = (range: string) => dryRunWith(withMasterKey, join(drive(1), '..', range))
  t.match(said('d{1...4}'), /^1 .*Another server process has the drive/s)
  t.equal(await server.stop(), 0)
  t.match(said('d{1...4}'), /^0 .*no problems found/s)
  t.match(said('d{1...3}'), /^1 .*The set has 4 drives, but 3 are named/s)
  for (const number of [1, 2]) renameSync(drive(number), `${drive(number)}.away`)
  t.match(said('d{1...4}'), /^0 .*no problems found/s, 'the others are enough to read')
  renameSync(drive(3), `${drive(3)}.away`)
  t.match(said('d{1...4}'), /^1 .*1 of 4 drives can be opened; 2 are needed to read/s)
})

for (const workers of ['0', '2']) {
  t.test(
    `what was written with less parity is told of after the parity was raised, with SVC_WORKERS=${workers}`,
    async t => {
      const { server, s3, drive, info } = await start(t, { SVC_WORKERS: workers, SVC_STORAGE_CLASS_RRS: 'EC:0' })
      t.match((await info()).pools, [{ parity: 2, reducedParity: 0, erasureSets: [{ leastParity: 0 }] }])
      const keys = sizes.map(size => `reduced/${size}`)
      const StorageClass = 'REDUCED_REDUNDANCY' as const
      const put = (Key: string, index: number) =>
        s3.send(new PutObjectCommand({ Bucket, Key, Body: bytesOf(Key, sizes[index]!), StorageClass }))
      await Promise.all(keys.map(put))
      t.equal(await server.stop(), 0)

      const environment = { ...withMasterKey, SVC_WORKERS: workers, SVC_STORAGE_CLASS_RRS: 'EC:2' }
      await server.start(environment)
      const raised = [{ parity: 2, reducedParity: 2, erasureSets: [{ leastParity: 0 }] }]
      t.match((await info()).pools, raised)
      await verify(t, s3, keys, 'with all drives')
      t.equal(await server.stop(), 0)

      // One may be away: what has no parity cannot be read.
      renameSync(drive(4), `${drive(4)}.away`)
      await server.start()
      t.match((await info()).pools, raised)
      const last = new GetObjectCommand({ Bucket, Key: keys.at(-1)! })
      await t.rejects(s3.send(last), { name: 'ServiceUnavailable' })
    },
  )
}
