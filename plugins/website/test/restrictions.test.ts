/** Who is kept out: by address, origin secret and rate; the records that remain; authenticated access. Over real sockets. */

import { rootPassword, rootUser, testUsers, userSecret } from 'svc/plugins/admin/testing'
import { presignUrl, signRequest } from 'svc/plugins/auth-sigv4/api'
import { referenceTo } from 'svc/plugins/secret-references/api'
import t from 'tap'
import { startSite } from './site.ts'

const site = {
  id: 'site',
  aliases: ['www.example.test', '*.wild.test'],
  origin: { bucket: 'pages' },
  defaultBehavior: { indexDocument: 'index.html' },
}

t.test('restrictions', async t => {
  const server = await startSite({ web: { trustedProxies: ['127.0.0.1'] } })
  t.teardown(() => server.stop())
  await server.put('pages', { 'index.html': 'home' })
  const from = (address: string, headers = {}) =>
    server.get('/', { headers: { 'X-Forwarded-For': address, ...headers } })
  const restrict = (restrictions: object) => server.publish({ ...site, restrictions })

  await t.test('addresses: deny first, then allow', async t => {
    await restrict({ sourceIp: { allow: ['192.0.2.0/24', '2001:db8::/32'], deny: ['192.0.2.7'] } })
    t.equal((await from('192.0.2.1')).status, 200)
    t.equal((await from('192.0.2.7')).status, 403)
    t.equal((await from('198.51.100.1')).status, 403)
    t.equal((await from('2001:db8::1')).status, 200)
    t.equal((await from('::ffff:192.0.2.1')).status, 200, 'a mapped address is the address')
  })

  await t.test('the secret of a proxy in front, shown nowhere, rotated with an overlap', async t => {
    const value = 'first-secret-of-the-proxy'
    await restrict({ originSecretHeader: { name: 'X-Origin', value } })
    const read = async () => (await server.signed({ path: '/api/v1/distributions/site' })).json
    const [shown] = (await read()).restrictions.originSecretHeader.values
    t.match(shown, /^sha256:[0-9a-f]{8}$/)
    t.equal((await from('192.0.2.1')).status, 403)
    t.equal((await from('192.0.2.1', { 'X-Origin': 'wrong' })).status, 403)
    t.equal((await from('192.0.2.1', { 'X-Origin': shown })).status, 403, 'what is shown is not the secret')
    t.equal((await from('192.0.2.1', { 'x-origin': value })).status, 200)
    await server.publish(await read())
    t.equal((await from('192.0.2.1', { 'X-Origin': value })).status, 200, 'sent back it stands for the secret')
    const rotate = (keepPreviousFor: string) =>
      server.signed({
        method: 'POST',
        path: '/api/v1/distributions/site/origin-secret/rotate',
        body: { keepPreviousFor },
      })
    const second = (await rotate('1h')).json
    t.equal(second.name, 'x-origin')
    t.equal((await from('192.0.2.1', { 'X-Origin': value })).status, 200)
    t.equal((await from('192.0.2.1', { 'X-Origin': second.value })).status, 200)
    const third = (await rotate('0s')).json
    t.equal((await from('192.0.2.1', { 'X-Origin': value })).status, 403, 'expired')
    t.equal((await from('192.0.2.1', { 'X-Origin': second.value })).status, 403)
    t.equal((await from('192.0.2.1', { 'X-Origin': third.value })).status, 200)
    t.notMatch(JSON.stringify(server.kernel.logs), /secret-of-the-proxy/)
  })

  await t.test('a new value replaces all, also beside the masked ones of a read', async t => {
    const leaked = 'leaked-secret-of-the-proxy'
    const next = 'next-secret-of-the-proxy'
    const statusOf = async (value: string) => (await from('192.0.2.1', { 'X-Origin': value })).status
    await restrict({ originSecretHeader: { name: 'X-Origin', value: leaked } })
    const path = '/api/v1/distributions/site'
    const read = (await server.signed({ path })).json
    const { originSecretHeader } = read.restrictions
    const put = (header: object) =>
      server.signed({
        method: 'PUT',
        path,
        body: { ...read, restrictions: { originSecretHeader: { ...originSecretHeader, ...header } } },
      })
    for (const other of ['another-secret-in-clear', referenceTo('of-a-node')]) {
      const refused = await put({ value: next, values: [...originSecretHeader.values, other] })
      t.match(refused, { status: 400, json: { errors: [{ element: '/restrictions/originSecretHeader' }] } }, other)
    }
    t.same([await statusOf(leaked), await statusOf(next)], [200, 403], 'nothing is stored')
    for (const attempt of ['first', 'again']) {
      t.equal((await put({ value: next })).status, 200)
      t.same([await statusOf(leaked), await statusOf(next)], [403, 200], attempt)
    }
    t.equal((await put({ value: '', values: [leaked, next] })).status, 200)
    t.same([await statusOf(leaked), await statusOf(next)], [200, 200], 'several are given as values')
  })

  await t.test('a request that is refused before the rate limit takes no token', async t => {
    await restrict({ rateLimit: { requestsPerSecond: 1, burst: 2 }, sourceIp: { deny: ['192.0.2.9'] } })
    for (let i = 0; i < 5; i++) t.equal((await from('192.0.2.9')).status, 403)
    t.equal((await from('192.0.2.50')).status, 200)
    t.equal((await from('192.0.2.50')).status, 200)
    const refused = await from('192.0.2.50')
    t.match(refused, { status: 429, headers: { 'retry-after': /^\d+$/, 'cache-control': 'no-store' } })
    t.equal((await from('192.0.2.51')).status, 200, 'each address has its own')
    await restrict({ rateLimit: { requestsPerSecond: 1, per: 'distribution' } })
    t.equal((await from('192.0.2.60')).status, 200)
    t.equal((await from('192.0.2.61')).status, 429)
  })

  await t.test('records', async t => {
    await server.publish({
      ...site,
      restrictions: { sourceIp: { deny: ['192.0.2.9'] } },
      logging: { accessLog: true },
    })
    const lines: { type: string; operation: string; error?: string }[] = []
    const watch = server.kernel.services.trace.subscribe({ types: ['web'] }, line => lines.push(line))
    await server.get('/?sig=hidden&a=1', { host: 'deep.wild.test', headers: { 'User-Agent': 'a "b"' } })
    await from('192.0.2.9')
    await new Promise(resolve => setTimeout(resolve, 50))
    watch.end()
    t.match(lines, [
      { type: 'web', operation: 'WebGet' },
      { type: 'web', error: 'source_ip' },
    ])
    const access = server.kernel.logs.filter(({ msg }) => msg === 'access').map(line => line.access)
    t.match(access, [
      {
        distribution: 'site',
        host: 'deep.wild.test',
        alias: '*.wild.test',
        method: 'GET',
        path: '/',
        status: 200,
        bytes: 4,
        cache: 'HIT',
      },
      { status: 403, client: '192.0.2.9' },
    ])
    t.notMatch(JSON.stringify(access), /hidden/)
    const [record, ...others] = await server.kernel.services.audit
      .recent(1000)
      .then(all => all.filter(({ type }) => type === 'web' && all.length > 0).slice(0, 1))
    t.match(record, { type: 'web', errorCode: 'source_ip', tags: { distribution: 'site', reason: 'source_ip' } })
    t.same(others, [])
  })
})

t.test('authenticated access', async t => {
  const users = testUsers({
    ada: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::pages/a/*' }],
    eve: [],
  })
  const server = await startSite({ plugins: [users], without: ['users', 'sts'] })
  t.teardown(() => server.stop())
  await server.put('pages', { 'a/index.html': 'for ada', 'b.html': 'not for her' })
  await server.publish({ ...site, defaultBehavior: { access: 'authenticated', indexDocument: 'index.html' } })
  const get = (accessKey: string, secret: string, path: string) => {
    const { headers } = signRequest(
      { accessKey, secret, region: 'us-east-1' },
      {
        method: 'GET',
        host: 'www.example.test',
        path,
        query: '',
        headers: {},
        payload: Buffer.alloc(0),
        nowMs: Date.now(),
      },
    )
    const { host: _host, ...sent } = headers as Record<string, string>
    return server.get(path, { headers: sent })
  }
  t.match(await server.get('/a/'), { status: 403 })
  t.match(await get('ada', userSecret, '/a/'), {
    status: 200,
    body: 'for ada',
    headers: { 'cache-control': 'private, no-store' },
  })
  t.match(await get('ada', userSecret, '/b.html'), { status: 403 })
  t.match(await get('ada', userSecret, '/missing'), { status: 403 }, 'what is there is not told')
  t.match(await get('eve', userSecret, '/a/'), { status: 403 })
  t.match(await get('ada', 'a-wrong-secret-entirely', '/a/'), { status: 403 })
  t.match(await get(rootUser, rootPassword, '/b.html'), { status: 200 })
  const presigned = (accessKey: string, secret: string) => {
    const request = { method: 'GET', url: 'http://www.example.test/a/', expiresSeconds: 60, nowMs: Date.now() }
    const { pathname, search } = new URL(presignUrl({ accessKey, secret, region: 'us-east-1' }, request))
    return server.get(pathname + search)
  }
  t.match(await presigned('ada', userSecret), { status: 200, body: 'for ada' }, 'a presigned link')
  t.match(await presigned('eve', userSecret), { status: 403 })
  const { cookie } = await server.login()
  t.match(await server.get('/b.html', { headers: { Cookie: cookie } }), { status: 200 }, 'a session of the console')
  // Whoever was let in sees the page of what is missing, also where nobody gets in without credentials.
  const block = (enabled: boolean) =>
    server.signed({ method: 'PUT', path: '/api/v1/buckets/pages/block-public', body: { enabled } })
  t.equal((await block(true)).status, 200)
  const errorPages = [403, 404].map(status => ({ status, path: '/b.html' }))
  await server.publish({ ...site, defaultBehavior: { access: 'authenticated' }, errorPages })
  t.match(await server.get('/missing', { headers: { Cookie: cookie } }), { status: 404, body: 'not for her' })
  const stranger = await server.get('/missing')
  t.equal(stranger.status, 403)
  t.notMatch(stranger.body, 'not for her')
  t.equal((await block(false)).status, 200)
  await server.publish({ ...site, defaultBehavior: { access: 'authenticated', indexDocument: 'index.html' } })
  t.match(await server.get('/b.html', { headers: { Cookie: 'svc_session=x' } }), { status: 403 })
  const audited = (await server.kernel.services.audit.recent(1000)).filter(({ type }) => type === 'web')
  t.ok(audited.some(({ identity, status }) => identity.accessKey === 'ada' && status === 200))

  // One was wrong before.
  for (let n = 1; n < 100; n++) {
    const { status } = await get('ada', 'a-wrong-secret-entirely', '/a/')
    if (status !== 403) t.fail(`${status} of wrong signature ${n + 1}`)
  }
  const guessed = await get('ada', userSecret, '/a/')
  t.match(guessed, { status: 503, headers: { 'retry-after': /^[1-9]\d?$/ } }, 'also if it is right')
  t.match(await server.get('/b.html', { headers: { Cookie: cookie } }), { status: 200 }, 'a session has no signature')
})

t.test('an access rule that denies holds for a public website', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', { 'index.html': 'home', 'internal/plan.txt': 'the plan' })
  await server.publish(site)
  t.match(await server.get('/internal/plan.txt'), { status: 200 })
  const rules = [
    {
      id: 'internal',
      effect: 'deny',
      principals: ['*'],
      match: { type: 'prefix', pattern: 'internal/' },
      actions: ['read'],
    },
  ]
  const stored = await server.signed({ method: 'PUT', path: '/api/v1/buckets/pages/access-rules', body: { rules } })
  t.equal(stored.status, 200, stored.text)
  const refused = await server.get('/internal/plan.txt')
  t.equal(refused.status, 403)
  t.notMatch(refused.body, /plan/)
  t.match(await server.get('/internal/none.txt'), { status: 403 }, 'also where nothing is')
  t.match(await server.get('/'), { status: 200 })
  const [record] = (await server.kernel.services.audit.recent(1000)).filter(({ type }) => type === 'web')
  t.match(record, { errorCode: 'access_denied', tags: { rule: 'internal' } })
})
