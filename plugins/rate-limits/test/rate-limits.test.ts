/** Limits in a server: who is refused, with which answer, and where it is told. Time stands still unless the test moves it. */
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { rootPassword, rootUser, startAdmin, userSecret } from 'svc/plugins/admin/testing'
import 'svc/plugins/audit/api'
import { createClients, outcome } from 'svc/plugins/s3/testing'
import { createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'

async function start(t: Test) {
  let nowNs = 0n
  const { clock } = createSystemPorts()
  const server = await startAdmin({
    ports: { clock: { ...clock, monotonicNs: () => nowNs } },
    config: { http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', trustedProxies: ['127.0.0.1'] } },
  })
  t.teardown(() => server.stop())
  const { signed, s3Port } = server
  const s3 = `http://127.0.0.1:${s3Port}`
  const clients = createClients(s3)
  t.teardown(() => clients.destroy())
  return {
    ...server,
    clients,
    endpoint: s3,
    wait: (seconds: number) => {
      nowNs += BigInt(Math.round(seconds * 1e9))
    },
    async set(settings: Record<string, string | null>) {
      const answer = await signed({ method: 'PATCH', path: '/api/v1/config/ratelimit', body: { settings } })
      if (answer.status !== 200) throw new Error(answer.text)
    },
    /** Statuses of requests that say that they come from this address. */
    async from(address: string, count: number, url = s3) {
      const statuses: number[] = []
      for (let i = 0; i < count; i++) {
        const answer = await fetch(url, { headers: { 'x-forwarded-for': address } })
        await answer.text()
        statuses.push(answer.status)
      }
      return statuses
    },
    async throttled(api: string, kind: string) {
      const text = await server.kernel.services.metrics.scrape()
      const found = new RegExp(`^svc_ratelimit_throttled_total\\{.*api="${api}",kind="${kind}".*\\} (\\d+)$`, 'm').exec(
        text,
      )
      return Number(found?.[1] ?? 0)
    },
  }
}

t.test('a client address of S3, an IPv6 network at once', async t => {
  const { set, from, wait, endpoint, kernel, throttled } = await start(t)
  t.same(await from('192.0.2.1', 5), [403, 403, 403, 403, 403], 'no limit is set')
  await set({ s3_ip: '2' })
  t.same(await from('192.0.2.1', 4), [403, 403, 503, 503])
  t.same(await from('192.0.2.2', 1), [403], 'another address')
  t.same(await from('2001:db8:1:2::1', 2), [403, 403])
  t.same(await from('2001:db8:1:2:3::9', 1), [503], 'of the same network')
  t.same(await from('2001:db8:1:3::1', 1), [403])
  for (const path of ['/svc/health/live', '/svc/health/ready', '/svc/metrics/v1/node']) {
    const statuses = await from('192.0.2.1', 4, endpoint + path)
    t.notOk(statuses.includes(503), `${path} is never limited`)
  }
  wait(0.5)
  t.same(await from('192.0.2.1', 2), [403, 503], 'half a second is one of two a second')
  await set({ s3_ip: '1', s3_ip_burst: '3' })
  wait(60)
  const answer = await fetch(endpoint, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  await answer.text()
  t.same(await from('192.0.2.1', 3), [403, 403, 503])
  const refused = await fetch(endpoint, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.match(await refused.text(), /<Code>SlowDown<\/Code>/)
  t.equal(refused.headers.get('retry-after'), '1')
  t.ok((await throttled('s3', 'ip')) >= 6)
  // The record is written when the connection is over, for us perhaps a little later.
  const requestId = refused.headers.get('x-amz-request-id')
  const recorded = async () => (await kernel.services.audit.recent(1000)).find(record => record.requestId === requestId)
  let record = await recorded()
  for (let tries = 0; tries < 9000 && record === undefined; tries++) {
    await new Promise(done => setTimeout(done, 10))
    record = await recorded()
  }
  t.match(record, { status: 503, errorCode: 'SlowDown', tags: { throttled: 'ip' } })
  await set({ s3_ip: null, s3_ip_burst: null })
  t.same(await from('192.0.2.1', 3), [403, 403, 403], 'as soon as the limit is gone')
})

t.test('the limit of an access key includes the links made with it', async t => {
  const { set, clients, s3, throttled } = await start(t)
  await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'text' }))
  const link = await getSignedUrl(s3, new GetObjectCommand({ Bucket: 'photos', Key: 'a' }))
  await set({ s3_access_key: '1', s3_access_key_burst: '2' })
  const list = () => outcome(s3.send(new ListBucketsCommand({})))
  t.same([await list(), await list(), await list()], ['ok', 'ok', '503 SlowDown'])
  t.equal((await fetch(link)).status, 200, 'a link has no key of its own')
  const nobody = clients.as({ accessKey: rootUser, secretKey: `${rootPassword}x` })
  t.equal(
    await outcome(nobody.send(new ListBucketsCommand({}))),
    '403 SignatureDoesNotMatch',
    'only who is who it says',
  )
  t.equal(await throttled('s3', 'user'), 1)
})

t.test('the limit of a bucket counts only allowed requests', async t => {
  const { set, s3, endpoint, throttled } = await start(t)
  for (const Bucket of ['photos', 'others']) await s3.send(new CreateBucketCommand({ Bucket }))
  await set({ s3_bucket: '1', s3_bucket_burst: '2' })
  const head = (Bucket: string) => outcome(s3.send(new HeadBucketCommand({ Bucket })))
  for (let i = 0; i < 5; i++) t.equal((await fetch(`${endpoint}/photos/a`)).status, 403)
  t.same([await head('photos'), await head('photos'), (await head('photos')).slice(0, 3)], ['ok', 'ok', '503'])
  t.equal(await head('others'), 'ok')
  t.equal(await outcome(s3.send(new ListBucketsCommand({}))), 'ok', 'no bucket')
  t.equal(await throttled('s3', 'bucket'), 1)
})

t.test('the Admin API: addresses and users', async t => {
  const { set, wait, signed, signedBy, anonymous, port, from, kernel, throttled } = await start(t)
  const user = { accessKey: 'ada', secretKey: userSecret, policyNames: ['consoleAdmin'] }
  t.equal((await signed({ method: 'POST', path: '/api/v1/users', body: user })).status, 201)
  const ada = signedBy('ada', userSecret)
  const key = (await ada({ method: 'POST', path: '/api/v1/access-keys', body: {} })).json
  await set({ admin_user: '1', admin_user_burst: '3' })
  const info = { path: '/api/v1/info' }
  t.equal((await ada(info)).status, 200)
  t.equal((await signedBy(key.accessKey, key.secretKey)(info)).status, 200, 'a key of hers')
  t.equal((await ada(info)).status, 200)
  const refused = await ada(info)
  t.match(refused, { status: 429, json: { code: 'too_many_requests' } })
  t.equal(refused.headers['retry-after'], '1')
  /** The records of refused requests; each is written when its connection is over, for us perhaps a little later. */
  const refusals = async (count: number) => {
    for (let tries = 0; ; tries++) {
      const records = (await kernel.services.audit.recent(1000)).filter(({ status }) => status === 429)
      if (records.length >= count || tries === 9000) return records
      await new Promise(done => setTimeout(done, 10))
    }
  }
  t.match(await refusals(1), [{ type: 'admin', status: 429, tags: { throttled: 'user' } }])
  t.equal((await signed(info)).status, 200, 'another user')
  t.equal(await throttled('admin', 'user'), 1)
  await set({ admin_user: null, admin_ip: '1', admin_ip_burst: '2' })
  wait(10)
  const url = `http://127.0.0.1:${port}/api/v1/info`
  t.same(await from('192.0.2.9', 3, url), [401, 401, 429], 'also who is nobody')
  t.notOk((await from('192.0.2.9', 3, `http://127.0.0.1:${port}/svc/health/live`)).includes(429))
  const nothing = `http://127.0.0.1:${port}/api/v1/nothing`
  t.same(await from('192.0.2.10', 3, nothing), [404, 404, 429], 'also where nothing is')
  t.notOk((await from('192.0.2.10', 3, `http://127.0.0.1:${port}/svc/health/nothing`)).includes(429))
  const login = { method: 'POST', path: '/api/v1/auth/login', body: { accessKey: rootUser, secretKey: 'wrong' } }
  await set({ admin_ip: null })
  for (let i = 0; i < 5; i++) t.equal((await anonymous(login)).status, 401)
  t.equal((await anonymous(login)).status, 429, 'too many logins that failed')
  const throttledUsers = (await refusals(3)).filter(({ tags }) => tags?.throttled === 'user')
  t.equal(throttledUsers.length, 2, 'hers, and the login')
  t.equal(await throttled('admin', 'user'), 2)
})

t.test('bad values are refused by name', async t => {
  const { signed } = await start(t)
  for (const settings of [
    { s3_ip: '-1' },
    { s3_ip: '1.5' },
    { s3_ip: 'many' },
    { s3_ip_burst: '1000001' },
    { s3_address: '1' },
  ]) {
    const answer = await signed({ method: 'PATCH', path: '/api/v1/config/ratelimit', body: { settings } })
    t.match(answer, { status: 400, json: { code: 'invalid_argument' } })
    t.ok(answer.text.includes(Object.keys(settings)[0]!))
  }
})
