/** A server over several pools, as its clients and its operators see it: drives fail in each, pools are added, none may be left out. */
import { globSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { until as comesTrue } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from './admin.ts'
import { bytesOf } from './clients.ts'
import { createClient } from './sdk.ts'
import { dryRunWith, startServer, withMasterKey } from './server.ts'

t.setTimeout(1_100_000)
const dryRun = (...drives: readonly string[]) => dryRunWith(withMasterKey, ...drives)
const Bucket = 'photos'
const multipartBytes = 12_000_000
/** So many that chance puts some of them into each set. */
const blobCount = 60
const blobBytes = 140_000

async function until(t: Test, what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  await comesTrue(isSo, { what })
  t.pass(what)
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

async function put(s3: S3Client, round: string): Promise<Map<string, number>> {
  const sizes = new Map([0, 100, 5000, 120_000].map(size => [`${round}/${size}`, size]))
  for (let number = 0; number < blobCount; number++) sizes.set(`${round}/blob-${number}`, blobBytes + number)
  await inParallel([...sizes], ([Key, size]) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body: bytesOf(Key, size) })),
  )
  const Key = `${round}/multipart`
  const params = { Bucket, Key, Body: bytesOf(Key, multipartBytes) }
  await new Upload({ client: s3, params, partSize: 5 * 1024 * 1024 }).done()
  return sizes.set(Key, multipartBytes)
}

async function verify(t: Test, s3: S3Client, sizes: ReadonlyMap<string, number>, what: string): Promise<void> {
  const wrong: string[] = []
  await inParallel([...sizes], async ([Key, size]) => {
    try {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
      if (!Buffer.from(await Body!.transformToByteArray()).equals(bytesOf(Key, size))) wrong.push(Key)
    } catch (error) {
      wrong.push(`${Key}: ${(error as Error).message}`)
    }
  })
  t.strictSame(wrong, [], `${what}: every object is what it was`)
}

t.test('pools of different shapes', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pools-'))
  const [first, second, third] = ['d{1...4}', 'e{1...3}', 'f{1...2}'].map(range => join(folder, range)) as [
    string,
    string,
    string,
  ]
  t.match(dryRun(first, second), /^0 .*plan: A new set of 4 drives.*plan: A new set of 3 drives.*no problems found/s)
  const environment = { ...withMasterKey, SVC_PROMETHEUS_AUTH_TYPE: 'public' }
  const server = await startServer({ drives: [first, second], environment })
  const s3 = createClient(server)
  t.teardown(async () => {
    s3.destroy()
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const blobs = (name: string) => globSync(`${name}/blobs/*/*`, { cwd: folder }).map(path => join(folder, path))
  const admin = () => createAdminClient(server)
  const health = async () => {
    const answer = await fetch(`${server.endpoint}/svc/health/ready`)
    const body = (await answer.json()) as { checks: { storage: string } }
    return `${answer.status} ${body.checks.storage}`
  }
  const metrics = async (name: string) => {
    const text = await (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
    return text.split('\n').filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  }
  const below = async () => {
    const lines = await metrics('svc_redundancy_below_target_records')
    return lines.reduce(
      (sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))),
      lines.length > 0 ? 0 : Number.NaN,
    )
  }
  const heal = async (request: object) => {
    const { id } = await admin().call('POST', '/heal', request)
    for (;;) {
      const job = await admin().call('GET', `/heal/${id}`)
      if (job.finished) return job
      await sleep(100)
    }
  }

  await s3.send(new CreateBucketCommand({ Bucket }))
  const sizes = await put(s3, 'first')
  await verify(t, s3, sizes, 'new')
  t.ok(blobs('d1').length > 0 && blobs('e1').length > 0, 'each pool has blobs')
  t.match((await admin().call('GET', '/info')).pools, [
    {
      index: 0,
      sets: 1,
      drivesPerSet: 4,
      parity: 2,
      reducedParity: 1,
      readQuorum: 2,
      writeQuorum: 3,
      erasureSets: [{ leastParity: 1, state: 'ok' }],
    },
    {
      index: 1,
      sets: 1,
      drivesPerSet: 3,
      parity: 1,
      reducedParity: 1,
      readQuorum: 2,
      writeQuorum: 2,
      erasureSets: [{ leastParity: 1, state: 'ok' }],
    },
  ])
  t.equal((await metrics('svc_redundancy_records')).length, 2)
  t.equal(await health(), '200 ok')

  // Pools are known by what their drives say.
  t.equal(await server.stop(), 0)
  t.match(dryRun(first), /^1 .*one of several sets/s)
  t.match(dryRun(second), /^1 .*one of several sets/s)
  await t.rejects(
    server.start(undefined, [first]),
    /one of several sets of a storage. Name the drives of all of its pools/,
  )
  await t.rejects(server.start(undefined, [first, third]), /has 2 pools; a set of 3 drives of pool 1 is missing/)
  t.equal(blobs('f1').length, 0, 'nothing was made of the other folders')
  t.match(dryRun(first, third), /^1 .*has 2 sets; 1 of them/s)
  t.match(dryRun(second, third), /^1 .*set with the records is missing/s)
  t.match(dryRun(second, first), /^0 .*no problems found/s)
  t.notMatch(dryRun(second, first), /plan:|not looked at:/)
  await server.start(undefined, [second, first])
  await verify(t, s3, sizes, 'named in another order')

  // What a drive says of its pools may be in its journal only.
  await server.kill()
  t.match(dryRun(second), /^0 .*not looked at: storage: to which set .* belong: they were not stopped cleanly/s)
  await server.start(undefined, [first, second])

  // A drive of each is lost, and comes back.
  t.equal(await server.stop(), 0)
  for (const name of ['d2', 'e2']) renameSync(join(folder, name), join(folder, `${name}.away`))
  await server.start(undefined, [first, second])
  await verify(t, s3, sizes, 'with a drive of each pool away')
  // A start does not wait for a drive that takes long to open.
  await until(t, 'one drive of each set is away', async () => {
    const { pools } = await admin().call('GET', '/info')
    type Shown = { erasureSets: readonly { state: string; offline: number }[] }
    return pools.every(({ erasureSets: [set] }: Shown) => set!.state === 'degraded' && set!.offline === 1)
  })
  for (const [key, size] of await put(s3, 'without')) sizes.set(key, size)
  t.ok((await below()) > 0)
  const ofBucket = async (what: 'records' | 'bytes') => {
    const [line] = await metrics(`svc_redundancy_bucket_below_target_${what}`)
    return Number(line?.slice(line.lastIndexOf(' ')))
  }
  const inShards = [...sizes.values()].filter(size => size > 512)
  const bytes = inShards.reduce((sum, size) => sum + size, 0)
  // A reading that took long is shown for a while: somebody may have read during the uploads.
  await until(t, 'all that is in shards is below', async () => (await ofBucket('bytes')) === bytes)
  const partCount = 2 * Math.ceil(multipartBytes / (5 * 1024 * 1024))
  const count = await ofBucket('records')
  t.ok(count >= inShards.length && count < inShards.length + partCount, `${count} records: parts count for themselves`)
  for (const name of ['d2', 'e2']) renameSync(join(folder, `${name}.away`), join(folder, name))
  await until(t, 'both are taken back and given what they lack', async () => (await below()) === 0)
  await verify(t, s3, sizes, 'whole again')

  // Lost shards of either pool are found and made anew by a job for the bucket.
  const lost = [...blobs('d1'), ...blobs('e1')]
  for (const path of lost) rmSync(path)
  const healed = await heal({ bucket: Bucket, recursive: true, deep: true })
  // Some of them the server may heal by itself at the same time.
  t.match(healed, { state: 'completed', failed: 0, dangling: 0 })
  t.ok(healed.healed > 0, `${healed.healed} objects were healed`)
  t.equal(healed.drives.length, 7)
  await until(t, 'every shard is there again', async () => {
    const there = new Set([...blobs('d1'), ...blobs('e1')])
    return lost.every(path => there.has(path)) && (await below()) === 0
  })

  // A pool is added.
  t.equal(await server.stop(), 0)
  await server.start(undefined, [first, second, third])
  t.equal((await admin().call('GET', '/info')).pools.length, 3)
  await verify(t, s3, sizes, 'with a third pool')
  for (const [key, size] of await put(s3, 'third')) sizes.set(key, size)
  t.ok(blobs('f1').length > 0, 'it gets blobs')
  await server.kill()
  await server.start()
  await verify(t, s3, sizes, 'after a kill')

  await inParallel([...sizes.keys()], Key => s3.send(new DeleteObjectCommand({ Bucket, Key })))
  await until(t, 'what nobody refers to is deleted in each pool', () => blobs('*').length === 0)
})

t.test('without a write quorum of the set with the records, other pools are not filled', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pools-'))
  const drives = [join(folder, 'd{1...4}'), join(folder, 'e{1...2}')]
  const server = await startServer({ drives, environment: { ...withMasterKey, SVC_WORKERS: '2' } })
  const s3 = createClient(server)
  t.teardown(async () => {
    s3.destroy()
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const bodies = () => globSync('e1/blobs/*/*', { cwd: folder }).sort()
  const ready = async () => {
    const answer = await fetch(`${server.endpoint}/svc/health/ready`)
    return `${answer.status} ${((await answer.json()) as { checks: { storage: string } }).checks.storage}`
  }
  const away = ['d2', 'd3'].map(name => join(folder, name))
  await s3.send(new CreateBucketCommand({ Bucket }))
  const kept = new Map<string, number>()
  for (let number = 0; bodies().length === 0; number++) {
    kept.set(`kept-${number}`, blobBytes)
    await s3.send(new PutObjectCommand({ Bucket, Key: `kept-${number}`, Body: bytesOf(`kept-${number}`, blobBytes) }))
  }
  const Key = 'parts'
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const before = bodies()

  const puts = (round: string) =>
    Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        s3.send(new PutObjectCommand({ Bucket, Key: `${round}-${i}`, Body: Buffer.alloc(blobBytes) })),
      ),
    )
  const part = (PartNumber: number) =>
    s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body: Buffer.alloc(blobBytes) }))
  for (const path of away) renameSync(path, `${path}.away`)
  // The drives are missed at these: some of them are answered, and of others it is in doubt whether they were made.
  const first = await puts('first')
  await until(t, 'two are missed', async () => (await ready()).startsWith('503 no write quorum'))
  const then = bodies()
  const refused = {
    name: 'ServiceUnavailable',
    message: '2 of 4 drives have all records; 3 are needed to write.',
  }
  for (const outcome of await puts('then')) t.match((outcome as PromiseRejectedResult).reason, refused)
  for (const number of [1, 2, 3, 4]) await t.rejects(part(number), refused)
  t.strictSame(
    bodies().filter(path => !then.includes(path)),
    [],
    'nothing of them is in the other pool',
  )

  for (const path of away) renameSync(`${path}.away`, path)
  await until(t, 'both are taken back', async () => (await ready()) === '200 ok')
  await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
  await verify(t, s3, kept, 'after all')
  // Also one that was refused in doubt may be there.
  for (const i of first.keys()) await s3.send(new DeleteObjectCommand({ Bucket, Key: `first-${i}` }))
  await until(t, 'without a restart only bodies of records are left', () => {
    const now = bodies()
    return now.length === before.length && now.every((path, i) => path === before[i])
  })
})

t.test('pools that cannot be are refused', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pools-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  t.match(dryRun(join(folder, 'd{1...17}')), /^1 .*has 17 drives.*Name 16 or 18 drives/s)
  t.match(dryRun(join(folder, 'd{1...4}'), join(folder, 'single')), /^1 .*has one drive; a pool has at least two/s)
  t.match(dryRun(join(folder, 'd{1...4}'), join(folder, 'd{3...6}')), /^1 .*is named twice/s)
})
