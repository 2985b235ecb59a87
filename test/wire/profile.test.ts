/** Profiles and speed tests are of every thread, whichever of them is asked. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { Profile } from 'pprof-format'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { findPrograms } from './clients.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

const run = promisify(execFile)
t.setTimeout(300_000)

t.test('with two workers', async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2' } })
  t.teardown(() => server.remove())
  const host = String(server.startup.console)
  const [hostname, port] = host.split(':')
  const path = '/api/v1/profile'
  const query = 'seconds=2&type=cpu'
  const { headers } = signRequest(
    { accessKey, secret: secretKey, region },
    { method: 'GET', host, path, query, headers: {}, nowMs: Date.now() },
  )
  const bytes = new Promise<Buffer>((done, fail) => {
    get({ hostname, port, path: `${path}?${query}`, headers: { ...headers } }, answer => {
      buffer(answer).then(done, fail)
    }).on('error', fail)
  })
  let isOver = false
  const load = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const answer = await fetch(server.endpoint, { headers: { connection: 'close' } })
      await answer.arrayBuffer()
    }
  })
  const profile = Profile.decode(gunzipSync(await bytes))
  isOver = true
  await Promise.all(load)
  const threads = new Set(profile.sample.map(({ label }) => profile.stringTable.strings[Number(label[0]!.str)]))
  t.same([...threads].sort(), ['0', '1', '2'])
})

const go = findPrograms('go')[0]
t.test('go tool pprof opens profiles', { skip: go === undefined && 'Go is not installed' }, async t => {
  const server = await startServer()
  t.teardown(() => server.remove())
  const admin = createAdminClient(server)
  for (const [type, unit] of [
    ['cpu', 'Type: cpu'],
    ['heap', 'Type: inuse_space'],
  ] as const) {
    const file = join(server.folder, `${type}.pb.gz`)
    let isOver = false
    const load = (async () => {
      while (!isOver) await (await fetch(server.endpoint)).arrayBuffer()
    })()
    writeFileSync(file, await admin.download(`/profile?type=${type}&seconds=2`))
    isOver = true
    await load
    const { stdout } = await run(go!, ['tool', 'pprof', '-top', file], { timeout: 240_000 })
    t.match(stdout, unit)
    t.match(stdout, /flat%\s+sum%\s+cum\s+cum%\n\s*\d/, 'with at least one function')
  }
})

t.test('a speed test uses every worker, and leaves nothing', async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2' } })
  t.teardown(() => server.remove())
  const admin = createAdminClient(server)
  const { object } = await admin.call('POST', '/speedtest/object', {
    size: 5_000_000,
    concurrency: 3,
    durationSeconds: 1,
  })
  t.match(object, { size: 5_000_000, put: { errors: 0 }, get: { errors: 0 }, nodes: [{ error: '' }] })
  t.ok(object.put.objectsPerSecond > 0 && object.get.objectsPerSecond > 0, JSON.stringify(object))
  const { drive } = await admin.call('POST', '/speedtest/drive', { size: 64 << 20, durationSeconds: 1 })
  t.ok(drive.drives[0].writeBytesPerSecond > 0, JSON.stringify(drive))
  t.match((await admin.call('GET', '/buckets')).items, [])
})
