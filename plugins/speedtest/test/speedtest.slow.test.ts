/** Rates are there and nothing else is left: not a file, not a bucket. */
import { readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { startAdmin, userSecret } from 'svc/plugins/admin/testing'
import t, { type Test } from 'tap'
import { quantiles } from '../object-speed.ts'

const server = await startAdmin()
t.teardown(server.stop)
const { users, objects, storage, iam } = server.kernel.services
await users.createUser({ accessKey: 'nobody', secretKey: userSecret })
const [drive] = await storage.drives()
const post = (kind: string, body?: object) => server.signed({ path: `/api/v1/speedtest/${kind}`, method: 'POST', body })
const bucketNames = async () => {
  const { buckets } = await objects.listBuckets({ prefix: '', startAfter: '', limit: 1000 })
  return buckets.map(({ name }) => name)
}

function matchSpeed(t: Test, speed: Record<string, unknown>, sizeBytes: number) {
  const { bytesPerSecond, objectsPerSecond, latencyMs } = speed as Record<string, number> & {
    latencyMs: Record<string, number>
  }
  t.ok(
    bytesPerSecond! > 0 && Math.abs(bytesPerSecond! / sizeBytes / objectsPerSecond! - 1) < 0.05,
    JSON.stringify(speed),
  )
  t.ok(0 < latencyMs.p50! && latencyMs.p50! <= latencyMs.p90! && latencyMs.p90! <= latencyMs.p99!)
  t.ok(latencyMs.p99! <= latencyMs.max!)
}

t.test('drives: a file without a name', async t => {
  const { status, json } = await post('drive', { size: 8 << 20, durationSeconds: 1 })
  t.equal(status, 200)
  t.match(json, { kind: 'drive', startedAt: /^20/, drive: { drives: [{ path: drive!.path, error: '' }] } })
  const [{ writeBytesPerSecond, readBytesPerSecond }] = json.drive.drives
  t.ok(writeBytesPerSecond > 0 && readBytesPerSecond > 0)
  t.ok(json.durationMs > 0)
  t.same(
    readdirSync(drive!.path).filter(name => name.includes('speedtest')),
    [],
  )
  t.notOk(json.object)
  const { json: tooLarge } = await post('drive', { size: 2 ** 40, durationSeconds: 1 })
  t.match(tooLarge.drive.drives, [{ writeBytesPerSecond: 0, error: /bytes free, and the test needs 2199023255552/ }])
})

t.test('objects: small ones and some in several chunks, and the test bucket is removed', async t => {
  for (const size of [1000, 3_000_000]) {
    const { status, json } = await post('object', { size, concurrency: 3, durationSeconds: 1 })
    t.equal(status, 200, JSON.stringify(json))
    t.match(json, { kind: 'object', object: { size, concurrency: 3, nodes: [{ endpoint: hostname(), error: '' }] } })
    const { put, get } = json.object
    for (const speed of [put, get]) matchSpeed(t, speed, size)
    t.match([put.errors, get.errors], [0, 0])
    t.notOk(put.ttfbMs)
    t.ok(get.ttfbMs.p50 <= get.latencyMs.p50)
    t.same(await bucketNames(), [])
  }
})

t.test('the bucket of a test that was interrupted is removed by the next, and no other one', async t => {
  const make = (name: string, tags: [string, string][]) =>
    objects.createBucket(name, { region: 'us-east-1', owner: iam.owner, tags: new Map(tags) })
  await make('svc-speedtest-mine', [])
  await make('svc-speedtest-0123', [['svc:speedtest', 'remove']])
  await post('object', { size: 1000, concurrency: 1, durationSeconds: 1 })
  t.same(await bucketNames(), ['svc-speedtest-mine'])
  await objects.deleteBucket('svc-speedtest-mine')
})

t.test('invalid parameters are refused by name', async t => {
  const refused = async (kind: string, body?: object) => {
    const { status, json } = await post(kind, body)
    return `${status} ${json.code} ${json.detail}`
  }
  t.match(await refused('net'), /^501 not_implemented .*one node/)
  t.match(await refused('disk'), /^400 invalid_argument .*kind/)
  t.match(await refused('object', { durationSeconds: 61 }), /^400 invalid_argument .*durationSeconds/)
  t.match(await refused('object', { concurrency: 257 }), /^400 invalid_argument .*concurrency/)
  t.match(await refused('object', { size: 2 ** 33 }), /^400 invalid_argument \/size: an object is at most/)
  t.match(
    await refused('object', { size: 5 * 2 ** 30, concurrency: 256 }),
    /^400 invalid_argument \/size: the test needs .* are free/,
  )
  t.match(await refused('drive', { size: 4096 }), /^400 invalid_argument \/size: a file is at least 4194304/)
  t.match(await refused('drive', { concurrency: 2 }), /^400 invalid_argument \/concurrency/)
  t.match(await refused('drive', { nodes: ['other.example'] }), /^400 invalid_argument \/nodes: .*other\.example/)
  const stranger = server.signedBy('nobody', userSecret)
  t.match(await stranger({ path: '/api/v1/speedtest/drive', method: 'POST' }), { status: 403 })
  const [one, other] = await Promise.all(
    [1, 2].map(() => post('drive', { size: 4 << 20, durationSeconds: 1, nodes: [hostname()] })),
  )
  t.same([one!.status, other!.status].sort(), [200, 409], 'one at a time')
})

t.test('quantiles are those of the nearest rank', async t => {
  t.same(quantiles(Float64Array.from({ length: 200 }, (_, i) => 200 - i)), { p50: 100, p90: 180, p99: 198, max: 200 })
  t.same(quantiles(new Float64Array(0)), { p50: 0, p90: 0, p99: 0, max: 0 })
  t.same(quantiles(Float64Array.of(7.12345)), { p50: 7.123, p90: 7.123, p99: 7.123, max: 7.123 })
})
