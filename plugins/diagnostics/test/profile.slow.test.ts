/** Profiles over the Admin API: what is in them, and what is refused. */
import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { Profile } from 'pprof-format'
import { definePlugin } from 'svc/kernel'
import { rootPassword, rootUser, startAdmin, userSecret } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import type { Collection } from 'svc/plugins/store/api'
import t from 'tap'
import { Type } from 'typebox'

const planted = 'planted-secret-of-the-environment'
process.env.SVC_PLANTED = planted
const Counter = Type.Object({ count: Type.Integer() })
let counters: Collection<{ count: number }> | undefined
const counting = definePlugin({
  name: 'counting',
  requires: ['store'],
  setup({ services }) {
    counters = services.store.collection({ name: 'counter', version: 1, schema: Counter })
  },
})
const server = await startAdmin({ plugins: [counting] })
t.teardown(server.stop)
await server.kernel.services.users.createUser({ accessKey: 'nobody', secretKey: userSecret })

const capture = (query: string) => server.signed({ path: `/api/v1/profile?${query}` })
const outcome = async (query: string) => {
  const { status, json } = await capture(query)
  return `${status} ${json?.code}`
}

async function download(query: string): Promise<{ headers: Record<string, unknown>; bytes: Buffer }> {
  const path = '/api/v1/profile'
  const host = `127.0.0.1:${server.port}`
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const { headers } = signRequest(signer, { method: 'GET', host, path, query, headers: {}, nowMs: Date.now() })
  return new Promise((done, fail) => {
    const sent = get(
      { host: '127.0.0.1', port: server.port, path: `${path}?${query}`, headers, agent: false },
      answer => {
        buffer(answer).then(bytes => done({ headers: answer.headers, bytes }), fail)
      },
    )
    sent.on('error', fail)
  })
}

/** Names that occur in the stacks, and the sums of the values by kind. */
function read(bytes: Buffer) {
  const profile = Profile.decode(gunzipSync(bytes))
  const { strings } = profile.stringTable
  const text = (index: number | bigint) => strings[Number(index)]!
  const kinds = profile.sampleType.map(({ type, unit }) => `${text(type)} ${text(unit)}`)
  return {
    kinds,
    names: new Set(profile.function.map(({ name }) => text(name))),
    sums: kinds.map((_, i) => profile.sample.reduce((sum, { value }) => sum + Number(value[i]), 0)),
    threads: new Set(profile.sample.map(({ label }) => text(label[0]!.str))),
    // The first location is the innermost frame: each is one that is described.
    isWhole: profile.sample.every(({ locationId }) =>
      locationId.every(id => profile.location.some(location => location.id === id)),
    ),
    seconds: Number(profile.durationNanos) / 1e9,
  }
}

t.test('the cpu profile has functions, their places and their times', async t => {
  const found = download('type=cpu&seconds=1')
  let isOver = false
  const busyWithNothingElse = () => {
    const until = performance.now() + 40
    while (performance.now() < until) Math.sqrt(Math.random())
    if (!isOver) setTimeout(busyWithNothingElse, 5)
  }
  busyWithNothingElse()
  const { headers, bytes } = await found
  isOver = true
  t.match(headers, {
    'content-type': 'application/gzip',
    'cache-control': 'no-store',
    'content-disposition': /^attachment; filename="[^"/]+-\d{8}T\d{6}Z-cpu\.pb\.gz"$/,
  })
  const { kinds, names, sums, threads, isWhole, seconds } = read(bytes)
  t.same(kinds, ['samples count', 'cpu nanoseconds'])
  t.ok(names.has('busyWithNothingElse'))
  t.notOk(names.has('(idle)'))
  t.notOk(names.has('post'), 'the profiler is no part of it')
  t.ok(sums[0]! > 0 && sums[1]! > 0)
  t.same([...threads], ['0'])
  t.ok(isWhole)
  t.ok(seconds >= 1)
})

t.test('heap: bytes by where they were taken', async t => {
  const kept: unknown[] = []
  const found = download('type=heap&seconds=1')
  const fillTheHeap = () => {
    for (let i = 0; i < 20_000; i++) kept.push({ i, text: `text ${i}` })
    if (kept.length < 400_000) setTimeout(fillTheHeap, 5)
  }
  fillTheHeap()
  const { kinds, names, sums } = read((await found).bytes)
  t.same(kinds, ['inuse_space bytes'])
  t.ok(names.has('fillTheHeap'))
  t.ok(sums[0]! > 100_000)
})

t.test('as V8 writes them', async t => {
  const cpu = await capture('type=cpu&seconds=1&format=v8')
  t.match(cpu.headers['content-disposition'], /-cpu\.cpuprofile"$/)
  t.match(cpu.json, { nodes: Array, samples: Array, timeDeltas: Array })
  t.match((await capture('type=heap&seconds=1&format=v8')).json, { head: { callFrame: { functionName: '(root)' } } })
})

t.test('the report of Node.js, without the environment', async t => {
  const { json, text } = await capture('type=goroutine')
  t.match(json, { header: { event: String }, javascriptStack: {}, libuv: Array, resourceUsage: {} })
  t.notMatch(text, planted)
  t.equal(json.environmentVariables, undefined)
})

t.test('delays of the event loop', async t => {
  // Again and again: nobody knows when the second that is measured begins.
  const blocking = setInterval(() => {
    const until = performance.now() + 200
    while (performance.now() < until);
  }, 400)
  const { json } = await capture('type=block&seconds=1').finally(() => clearInterval(blocking))
  const [own, ...others] = json.threads
  t.same(others, [])
  t.equal(own.thread, 0)
  t.ok(own.delayMs.max >= 150, `${own.delayMs.max} ms`)
  t.ok(own.utilization > 0 && own.utilization <= 1)
  t.ok(own.functions.length > 0)
})

t.test('the profile of waits has the waiting and the holding operations', async t => {
  const { locks } = server.kernel.services
  const found = capture('type=mutex&seconds=2')
  let isOver = false
  const load = (async () => {
    while (!isOver) {
      // The second one waits for the first.
      const hold = () =>
        locks.hold('photos/delete', { source: 'test', waitMs: 5000 }, () => new Promise(done => setTimeout(done, 50)))
      const update = () => counters!.update('one', now => ({ count: (now?.value.count ?? 0) + 1 }))
      await Promise.all([hold(), hold(), update(), update(), update()])
    }
  })()
  const { json } = await found
  isOver = true
  await load
  t.match(json, { node: String, seconds: 2, resources: Array })
  const of = (resource: string) => json.resources.find((each: { resource: string }) => each.resource === resource)
  const lock = of('lock photos/delete')
  t.ok(lock.waits > 0 && lock.maxMs >= 45 && lock.totalMs >= lock.maxMs, JSON.stringify(json))
  t.ok(of('document counter/one')?.waits > 0, JSON.stringify(json))
})

t.test('a snapshot of the heap', async t => {
  const { headers, bytes } = await download('type=heap&snapshot=true')
  t.match(headers['content-disposition'], /-heap\.heapsnapshot"$/)
  t.match(JSON.parse(bytes.toString()), { snapshot: { meta: {} }, nodes: Array })
})

t.test('invalid combinations of parameters are refused', async t => {
  t.equal(await outcome('type=disk'), '400 invalid_argument')
  t.equal(await outcome('seconds=1'), '400 invalid_argument')
  t.equal(await outcome('type=cpu&seconds=0'), '400 invalid_argument')
  t.equal(await outcome('type=cpu&seconds=61'), '400 invalid_argument')
  t.equal(await outcome('type=cpu&snapshot=true'), '400 invalid_argument')
  t.equal(await outcome('type=cpu&format=v8&thread=1'), '400 invalid_argument', 'there is no such thread')
  const nobody = server.signedBy('nobody', userSecret)
  t.match(await nobody({ path: '/api/v1/profile?type=cpu' }), { status: 403, json: { code: 'access_denied' } })

  const first = outcome('type=cpu&seconds=2')
  for (let second = ''; second !== '409 conflict'; ) second = await outcome('type=goroutine')
  t.equal(await outcome('type=heap&seconds=1'), '409 conflict')
  t.equal(await first, '200 undefined')
  t.equal(await outcome('type=goroutine'), '200 undefined', 'afterwards the next one runs')
})
