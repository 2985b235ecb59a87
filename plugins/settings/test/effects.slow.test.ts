/** Effects of settings on a real server in one thread: root, the limit of requests, sessions of the console, background work. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateBucketCommand, ListBucketsCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { rootPassword, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { createClients, outcome } from 'svc/plugins/s3/testing'
import t, { type Test } from 'tap'

const assumeRoleScript = `
import os, json, boto3
from botocore.exceptions import ClientError
sts = boto3.client('sts', endpoint_url=os.environ['ENDPOINT'], region_name='us-east-1',
    aws_access_key_id=os.environ['KEY'], aws_secret_access_key=os.environ['SECRET'])
try:
    answer = sts.assume_role(RoleArn='arn:aws:iam::000000000000:role/any', RoleSessionName='test')
except ClientError as error:
    answer = error.response
print(json.dumps(answer, default=str))
`
const folder = await mkdtemp(join(tmpdir(), 'svc-effects-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

async function start(t: Test, drive: string) {
  const server = await startAdmin({ config: { storage: { endpoints: [join(folder, drive)] } } })
  t.teardown(() => server.stop())
  const set = async (subsystem: string, settings: Record<string, string | null>) => {
    const answer = await server.signed({ method: 'PATCH', path: `/api/v1/config/${subsystem}`, body: { settings } })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.json
  }
  return { server, set }
}

t.test('root_access off denies the S3 API to root and to credentials with its rights, and to no others', async t => {
  const { server, set } = await start(t, 'root')
  const { s3, signed, s3Port } = server
  const endpoint = `http://127.0.0.1:${s3Port}`
  await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  const create = async (body: object) => (await signed({ method: 'POST', path: '/api/v1/access-keys', body })).json
  const full = await create({})
  const everything = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] }
  const limited = await create({ policy: everything })
  const user = { accessKey: 'ada', secretKey: 'a-secret-of-a-user', policyNames: ['readwrite'] }
  t.equal((await signed({ method: 'POST', path: '/api/v1/users', body: user })).status, 201)
  /** `ok` for accepted credentials, otherwise the error. */
  const assumeRole = async () => {
    const env = { ...process.env, ENDPOINT: endpoint, KEY: rootUser, SECRET: rootPassword }
    return JSON.parse((await promisify(execFile)('python3', ['-c', assumeRoleScript], { env })).stdout)
  }
  const session = (await assumeRole()).Credentials
  const clients = createClients(endpoint)
  t.teardown(() => clients.destroy())
  const callers = {
    root: s3,
    full: clients.as(full),
    session: clients.as({
      accessKey: session.AccessKeyId,
      secretKey: session.SecretAccessKey,
      sessionToken: session.SessionToken,
    }),
    limited: clients.as(limited),
    user: clients.as(user),
  }
  const all = async () => {
    const outcomes: Record<string, string> = {}
    for (const [name, client] of Object.entries(callers)) {
      outcomes[name] = await outcome(client.send(new ListBucketsCommand({})))
    }
    return outcomes
  }
  const presign = { method: 'POST', path: '/api/v1/presign', body: { method: 'GET', bucket: 'photos', key: 'a' } }
  const policy = { method: 'POST', path: '/api/v1/post-policy', body: { bucket: 'photos', key: 'a' } }
  const { url } = (await signed(presign)).json
  const form = server.operations.find(({ id }) => id === 'createPostPolicy')!.path
  const { json: posted } = await signed({ ...policy, path: `/api/v1${form}` })
  t.same(await all(), { root: 'ok', full: 'ok', session: 'ok', limited: 'ok', user: 'ok' })
  t.equal((await fetch(url)).status, 404)

  t.same((await set('api', { root_access: 'off' })).notApplied, [])
  const denied = '403 AccessDenied'
  t.same(await all(), { root: denied, full: denied, session: denied, limited: 'ok', user: 'ok' })
  const refused = await fetch(url)
  t.equal(refused.status, 403)
  t.match(await refused.text(), /<Code>AccessDenied<\/Code>.*root_access is off/)
  const body = new FormData()
  for (const [name, value] of Object.entries(posted.fields as Record<string, string>)) body.append(name, value)
  body.append('file', new Blob(['text']))
  t.equal((await fetch(posted.url, { method: 'POST', body })).status, 403, 'a form that root signed')
  t.match(await assumeRole(), { Error: { Code: 'AccessDenied' }, ResponseMetadata: { HTTPStatusCode: 403 } })
  t.equal((await server.anonymous({ path: '/api/v1/config' })).status, 401)
  for (const call of [presign, { ...policy, path: `/api/v1${form}` }]) {
    const answer = await signed(call)
    t.match(answer, { status: 403, json: { code: 'access_denied' } }, 'what would not be served is not signed')
  }
  t.equal((await signed({ path: '/api/v1/buckets' })).status, 200, 'the Admin API stays open')
  await set('api', { root_access: null })
  t.equal((await all()).root, 'ok')
})

t.test('beyond requests_max a request waits for its turn, and is refused after the deadline', async t => {
  const { server, set } = await start(t, 'limit')
  const { s3, s3Port } = server
  await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  /** An upload that pauses until the test continues it. */
  const begin = async (key: string): Promise<{ socket: Socket; end(): Promise<string> }> => {
    const payload = Buffer.from('text')
    const host = `127.0.0.1:${s3Port}`
    const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
    const head = signRequest(signer, {
      method: 'PUT',
      host,
      path: `/photos/${key}`,
      query: '',
      headers: {},
      payload,
      nowMs: Date.now(),
    })
    const socket = connect(s3Port, '127.0.0.1')
    let text = ''
    socket.on('data', data => {
      text += data
    })
    const lines = Object.entries({ host, ...head.headers, 'content-length': '4', connection: 'close' })
    socket.write(`PUT /photos/${key} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    socket.write('te')
    // The request must have arrived before the next one is sent.
    await new Promise(resolve => setTimeout(resolve, 100))
    return {
      socket,
      end: () =>
        new Promise(resolve => {
          socket.on('close', () => resolve(text.split('\r\n')[0]!))
          socket.write('xt')
        }),
    }
  }
  const list = () => outcome(s3.send(new ListBucketsCommand({})))
  await set('api', { requests_max: '2', requests_deadline: '300ms' })
  const first = await begin('first')
  t.equal(await list(), 'ok', 'there is one place left')
  const second = await begin('second')
  const inFlight = await server.kernel.services.metrics.scrape()
  t.match(inFlight, /^svc_s3_requests_inflight\{[^}]*\} 2$/m)
  const startedMs = performance.now()
  t.equal(await list(), '503 SlowDown')
  t.ok(performance.now() - startedMs >= 290, 'it has waited')
  const answer = await fetch(`http://127.0.0.1:${s3Port}/`)
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '1')
  t.match(await answer.text(), /<Code>SlowDown<\/Code>/)

  await set('api', { requests_deadline: '30s' })
  const waiting = [list(), list(), list()]
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(await first.end(), 'HTTP/1.1 200 OK')
  t.same(await Promise.all(waiting), ['ok', 'ok', 'ok'], 'each in its turn')
  second.socket.destroy()
  await set('api', { requests_deadline: '0' })
  const third = await begin('third')
  const fourth = await begin('fourth')
  t.equal(await list(), '503 SlowDown', 'at once')
  await set('api', { requests_deadline: '30s' })
  const left = await begin('left')
  left.socket.destroy()
  const freed = list()
  await set('api', { requests_max: '0' })
  t.equal(await freed, 'ok', 'who waits goes on when the limit goes')
  t.equal(await third.end(), 'HTTP/1.1 200 OK')
  t.equal(await fourth.end(), 'HTTP/1.1 200 OK')
  await set('api', { requests_max: '1', requests_deadline: '0' })
  for (let i = 0; i < 20; i++) t.equal(await list(), 'ok', 'every place was given back')
  const scrape = await server.kernel.services.metrics.scrape()
  const refused = /^svc_ratelimit_throttled_total\{api="s3",kind="concurrency",server="[^"]+"\} (\d+)$/m.exec(scrape)
  // Those above, and retries of the SDK.
  t.ok(Number(refused?.[1]) >= 3)
})

t.test('sessions of the console last as long as set before the start', async t => {
  const { server, set } = await start(t, 'browser')
  const lifetimeMs = async (one: typeof server) => {
    const { call } = await one.login()
    const { expiresAt, issuedAt } = (await call({ path: '/api/v1/auth/session' })).json
    return Date.parse(expiresAt) - Date.parse(issuedAt)
  }
  t.same((await set('browser', { session_duration: '30m' })).notApplied, ['session_duration'])
  t.equal(await lifetimeMs(server), 12 * 3_600_000)
  await server.kernel.stop()
  const { server: again } = await start(t, 'browser')
  t.equal(await lifetimeMs(again), 30 * 60_000)
})

t.test('uploads of the console are limited in size, announced or not', async t => {
  const { server, set } = await start(t, 'uploads')
  await server.s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  const { cookie, csrfToken } = await server.login()
  const upload = async (body: Buffer | AsyncIterable<Buffer>) => {
    const origin = `http://127.0.0.1:${server.port}`
    const headers = { cookie, origin, 'x-csrf-token': csrfToken, 'content-type': 'text/plain' }
    const url = `${origin}/api/v1/buckets/photos/objects/upload?key=a`
    const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    const { code, size } = (await answer.json()) as { code?: string; size?: number }
    return `${answer.status} ${code ?? size}`
  }
  const outcome = async (bytes: number) => {
    async function* inPieces() {
      for (let left = bytes; left > 0; left -= 256) yield Buffer.alloc(Math.min(left, 256))
    }
    const [announced, unknown] = [await upload(Buffer.alloc(bytes)), await upload(inPieces())]
    t.equal(announced, unknown)
    return announced
  }
  t.same((await set('browser', { upload_max_size: '1KiB' })).notApplied, [])
  t.equal(await outcome(1024), '201 1024')
  t.equal(await outcome(1025), '413 entity_too_large')
  await set('browser', { upload_max_size: null })
  t.equal(await outcome(1025), '201 1025')
})

t.test('the scanner works at the speed and in the cycle that are set', async t => {
  const { server, set } = await start(t, 'scanner')
  const { s3 } = server
  const worker = () => server.kernel.kernel.workers().find(({ plugin }) => plugin === 'lifecycle')!
  const rules = { rules: [{ id: 'a', enabled: true, expiration: { days: 1 } }] }
  for (const Bucket of ['one', 'two']) {
    await s3.send(new CreateBucketCommand({ Bucket }))
    await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }))
    const put = { method: 'PUT', path: `/api/v1/buckets/${Bucket}/lifecycle`, body: rules }
    t.equal((await server.signed(put)).status, 200)
  }
  const unitsIn = async (ms: number) => {
    const before = worker().units
    await new Promise(resolve => setTimeout(resolve, ms))
    return worker().units - before
  }
  await unitsIn(3000)
  const quiet = await unitsIn(2500)
  t.ok(quiet <= 2, `nothing to do but to look: ${quiet}`)
  await set('scanner', { cycle: '1s' })
  const busy = await unitsIn(5000)
  t.ok(busy >= 6, `a round every time it looks: ${busy}`)
  t.match((await server.signed({ path: '/api/v1/config/scanner' })).json.settings, { cycle: '1s', speed: 'fastest' })
})
