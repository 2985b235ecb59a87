/** Settings of a bucket with `If-Match`: a change does not undo what somebody else has changed since they were read. */
import { startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin({
  without: ['users'],
  plugins: [testUsers({ writer: [{ Effect: 'Allow', Action: ['s3:Put*', 'admin:Set*'], Resource: '*' }] })],
  config: { kms: { secretKey: `default:${Buffer.alloc(32, 1).toString('base64')}` } },
})
t.teardown(() => server.stop())
const { signed } = server
const writer = server.signedBy('writer', userSecret)
const base = '/api/v1/buckets/kept'
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`

await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'kept', objectLock: true } })
await signed({ method: 'PUT', path: `${base}/encryption`, body: { algorithm: 'AES256' } })

const settings: Readonly<Record<string, readonly [first: object, second: object, third: object]>> = {
  quota: [
    { type: 'hard', size: 10 },
    { type: 'hard', size: 20 },
    { type: '', size: 0 },
  ],
  objectlock: [
    { enabled: true, mode: 'COMPLIANCE', years: 10 },
    { enabled: true, mode: 'GOVERNANCE', days: 1 },
    { enabled: true },
  ],
  encryption: [{ algorithm: 'aws:kms' }, { algorithm: 'AES256' }, { algorithm: 'aws:kms' }],
  tags: [{ tags: { a: '1' } }, { tags: { a: '1', b: '2' } }, { tags: {} }],
}

for (const [name, [first, second, third]] of Object.entries(settings)) {
  t.test(name, async t => {
    const path = `${base}/${name}`
    const put = (body: object, ifMatch: string, call = signed) =>
      call({ method: 'PUT', path, body, headers: { 'if-match': ifMatch } })
    const read = await signed({ path })
    const before = String(read.headers.etag)
    t.match(before, /^"[0-9a-f]{32}"$/)
    const changed = await put(first, before)
    t.equal(outcome(changed), '200')
    t.not(changed.headers.etag, before)
    t.same((await signed({ path })).headers.etag, changed.headers.etag)
    t.equal(outcome(await put(second, before)), '412 precondition_failed')
    t.match((await signed({ path })).json, first, 'it stays')
    t.equal(outcome(await put(second, '*')), '200')
    const etag = String((await signed({ path })).headers.etag)
    const raced = await Promise.all([first, third, first, third].map(body => put(body, etag)))
    t.same(raced.map(outcome).sort(), ['200', ...Array(3).fill('412 precondition_failed')])
    t.equal(outcome(await put(first, 'x', writer)), '403 access_denied', 'the outcome would tell what there is')
    t.equal(outcome(await writer({ method: 'PUT', path, body: second })), '200')
    t.match((await signed({ path })).json, second)
  })
}

t.test('versioning', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'plain' } })
  const path = '/api/v1/buckets/plain/versioning'
  const etag = String((await signed({ path })).headers.etag)
  const put = (status: string, ifMatch: string) =>
    signed({ method: 'PUT', path, body: { status }, headers: { 'if-match': ifMatch } })
  t.equal(outcome(await put('enabled', etag)), '200')
  t.equal(outcome(await put('suspended', etag)), '412 precondition_failed')
  t.same((await signed({ path })).json, { status: 'enabled' })
})

t.test('a default encryption that is made, and removed', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'made' } })
  const path = '/api/v1/buckets/made/encryption'
  const make = (algorithm: string) =>
    signed({ method: 'PUT', path, body: { algorithm }, headers: { 'if-none-match': '*' } })
  const made = await make('aws:kms')
  t.equal(outcome(made), '200')
  t.equal(outcome(await make('AES256')), '412 precondition_failed')
  await signed({ method: 'PUT', path, body: { algorithm: 'AES256' } })
  const remove = (ifMatch: string) => signed({ method: 'DELETE', path, headers: { 'if-match': ifMatch } })
  t.equal(outcome(await remove(String(made.headers.etag))), '412 precondition_failed')
  t.equal(outcome(await remove(String((await signed({ path })).headers.etag))), '204')
  t.equal(outcome(await signed({ path })), '404 encryption_not_found')
})

t.test(
  'a default encryption that somebody else has made is not removed by who has read that there is none',
  async t => {
    await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'bare' } })
    const path = '/api/v1/buckets/bare/encryption'
    const remove = (call = signed) => call({ method: 'DELETE', path, headers: { 'if-none-match': '*' } })
    t.equal(outcome(await remove()), '204')
    await signed({ method: 'PUT', path, body: { algorithm: 'AES256' } })
    t.equal(outcome(await remove()), '412 precondition_failed')
    t.equal(outcome(await remove(writer)), '403 access_denied', 'the outcome would tell what there is')
    t.same((await signed({ path })).json, { algorithm: 'AES256' })
  },
)
