/** Signed access on real requests: URLs and cookies of other signers and of the server, in the order of the steps, on the way to no log. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { getSignedCookies, getSignedUrl } from '@aws-sdk/cloudfront-signer'
import { userSecret } from 'svc/plugins/admin/testing'
import 'svc/plugins/key-groups/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { type Answer, ask, startSite } from './site.ts'

const site = await startSite()
t.teardown(site.stop)
const { signed, webPort } = site
const { keyGroups, users, audit } = site.kernel.services
const origin = `http://www.example.test:${webPort}`
const host = `www.example.test:${webPort}`
const run = promisify(execFile)

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
await keyGroups.create('films', { keys: [{ publicKey }] })
const keyPairId = (await keyGroups.get('films')).keys[0]!.id
const { key: ours } = await keyGroups.addKey('films', { generate: true })

const base = {
  id: 'site',
  aliases: ['www.example.test', '*.cdn.example.test'],
  origin: { bucket: 'films' },
  defaultBehavior: { access: 'deny', signing: { keyGroup: 'films' } },
  behaviors: [
    {
      pathPattern: { type: 'prefix', pattern: '/films/' },
      access: 'signed',
      cors: { allowedOrigins: ['https://app.test'] },
    },
    { pathPattern: { type: 'prefix', pattern: '/open/' }, access: 'public' },
  ],
}
await site.put('films', {
  'films/a.mp4': 'a film',
  'films/b.mp4': 'another',
  'films/hd/1.ts': 'one',
  'films/ü 100%.txt': 'all',
  'open/x': 'open',
})
await site.publish(base)

const inAnHour = () => new Date(Date.now() + 3600_000)
const sdkUrl = (path: string, more: object = {}) =>
  getSignedUrl({
    url: origin + path,
    keyPairId,
    privateKey,
    algorithm: 'SHA256',
    dateLessThan: inAnHour(),
    ...more,
  } as Parameters<typeof getSignedUrl>[0])
const get = (url: string, options: Parameters<typeof site.get>[1] = {}) =>
  site.get(url.replace(origin, ''), { host, ...options })
const statusOf = async (url: string, options?: Parameters<typeof site.get>[1]) => (await get(url, options)).status
/** The audit record of an answer; it is written when the connection is over, for us perhaps a little later. */
async function recordOf({ headers }: Answer) {
  for (let tries = 0; tries < 9000; tries++) {
    const found = (await audit.recent(200)).find(({ requestId }) => requestId === headers['x-amz-request-id'])
    if (found !== undefined) return found
    await sleep(10)
  }
  throw new Error(`no record of ${headers['x-amz-request-id']}`)
}

t.test("URLs of the SDK's signer open what they were signed for, and nothing else", async t => {
  const url = sdkUrl('/films/a.mp4')
  t.match(await get(url), { status: 200, body: 'a film' })
  t.equal(await statusOf(url, { method: 'HEAD' }), 200)
  t.match(await get(url, { headers: { Range: 'bytes=2-5' } }), { status: 206, body: 'film' })
  t.equal(await statusOf('/films/a.mp4'), 403)
  t.equal(await statusOf(url.replace('a.mp4', 'b.mp4')), 403)
  t.equal(await statusOf(url.replace('Signature=', 'Signature=x')), 403)
  t.equal(await statusOf(`${url}&x=1`), 403)
  t.equal(await statusOf(url, { host: `a.cdn.example.test:${webPort}` }), 403, 'not on another host')
  t.equal(await statusOf(sdkUrl('/films/a.mp4', { dateLessThan: new Date(Date.now() - 1000) })), 403)
  const here = sdkUrl('/films/a.mp4', { ipAddress: '127.0.0.1', dateGreaterThan: new Date(Date.now() - 1000) })
  const elsewhere = sdkUrl('/films/a.mp4', { ipAddress: '192.0.2.1' })
  t.same([await statusOf(here), await statusOf(elsewhere)], [200, 403])
  t.equal(await statusOf(sdkUrl('/open/x').replace('Signature=', 'Signature=x')), 200, 'public paths do not look')
  t.equal(await statusOf(sdkUrl('/other')), 403, 'a signature opens no behavior that denies')
  const overTls = sdkUrl('/films/a.mp4', { url: `https://${host}/films/a.mp4` })
  t.equal(await statusOf(overTls.replace(`https://${host}`, '')), 200, 'a proxy may end TLS: there is no certificate')
})

t.test('cookies open many URLs', async t => {
  const policy = JSON.stringify({
    Statement: [
      {
        Resource: `${origin}/films/hd/*`,
        Condition: { DateLessThan: { 'AWS:EpochTime': Math.floor(+inAnHour() / 1000) } },
      },
    ],
  })
  const cookies = getSignedCookies({ policy, keyPairId, privateKey, algorithm: 'SHA256' })
  const Cookie = Object.entries(cookies)
    .map(([name, value]) => `${name.replace('CloudFront', 'Cdn')}=${value}`)
    .join('; ')
  t.match(await get('/films/hd/1.ts?x=2', { headers: { Cookie } }), { status: 200, body: 'one' })
  t.equal(await statusOf('/films/a.mp4', { headers: { Cookie } }), 403)
  t.equal(await statusOf('/films/hd/2.ts', { headers: { Cookie } }), 404, 'allowed, and not there')
})

t.test('curl gets URLs that the server signed', async t => {
  const sign = (body: object, as = signed) => as({ method: 'POST', path: '/api/v1/distributions/site/sign', body })
  const curl = async (...args: string[]) =>
    (await run('curl', ['-sS', '--resolve', `www.example.test:${webPort}:127.0.0.1`, '-w', ' %{http_code}', ...args]))
      .stdout
  t.equal(await curl(sdkUrl('/films/a.mp4')), 'a film 200')
  const made = await sign({ url: `${origin}/films/a.mp4`, expiresInSeconds: 60 })
  t.match(made, { status: 200, json: { kind: 'url', keyId: ours.id, keyGroup: 'films', policy: /^\{"Statement"/ } })
  t.equal(await curl(made.json.url), 'a film 200')
  t.equal(await curl('-g', made.json.url.replace('a.mp4', 'b.mp4')).then(text => text.slice(-3)), '403')
  const wild = await sign({
    kind: 'cookies',
    url: `${origin}/films/`,
    resource: `${origin}/films/*`,
    ip: '127.0.0.0/8',
  })
  t.match(wild.json.cookies, [
    { name: 'Cdn-Policy', domain: 'www.example.test', path: '/films/', secure: false, httpOnly: true },
  ])
  const jar = `${temporaryFolder(t)}/cookies.txt`
  const lines = wild.json.cookies.map(({ name, value, domain, path, expires }: Record<string, string>) =>
    [`#HttpOnly_${domain}`, 'FALSE', path, 'FALSE', Math.floor(Date.parse(expires!) / 1000), name, value].join('\t'),
  )
  writeFileSync(jar, `# Netscape HTTP Cookie File\n${lines.join('\n')}\n`)
  t.equal(await curl('-b', jar, `${origin}/films/b.mp4`), 'another 200')
  t.equal((await curl(`${origin}/films/b.mp4`)).slice(-3), '403')

  const byPath = await sign({ path: '/films/a.mp4' })
  t.ok(byPath.json.url.startsWith(`${origin}/films/a.mp4?Expires=`), 'the first exact alias, where it is answered')
  t.equal(await curl(byPath.json.url), 'a film 200')
  for (const typed of ['ü 100%.txt', '%C3%BC%20100%.txt', '%c3%bc 100%25.txt']) {
    for (const body of [{ path: `/films/${typed}` }, { url: `${origin}/films/${typed}` }])
      t.equal(await curl((await sign(body)).json.url), 'all 200', JSON.stringify(body))
  }
  t.equal((await curl((await sign({ path: '/films/100%ab%' })).json.url)).slice(-3), '404', 'a name, and no bad escape')
  const usual = await sign({ path: '/films/a.mp4', resource: 'http://WWW.example.test/films/*' })
  t.match(usual.json.url, /^http:\/\/www\.example\.test\/films\/a\.mp4\?/, 'at the port of the pattern')
  t.equal(await statusOf(usual.json.url.replace('http://www.example.test', ''), { host: 'www.example.test' }), 200)
  const below = await sign({ path: '/films/{a b}/', domain: 'x.cdn.example.test', resource: '/films/{a b}/*' })
  const belowHost = `x.cdn.example.test:${webPort}`
  t.match(below.json.policy, `"Resource":"http://${belowHost}/films/%7Ba%20b%7D/*"`, 'a path at the address of the URL')
  t.match(await sign({ path: '/films/a.mp4', resource: '/open/*' }), {
    status: 400,
    json: { detail: /does not match the URL/ },
  })
  const other = await sign({ path: '/films/a.mp4', domain: 'x.cdn.example.test', keyId: ours.id })
  const otherHost = `x.cdn.example.test:${webPort}`
  t.equal(await statusOf(other.json.url.replace(`http://${otherHost}`, ''), { host: otherHost }), 200)
  const proxied = await sign({ path: '/films/a.mp4', domain: 'x.cdn.example.test:80' })
  t.match(proxied.json.url, /^http:\/\/x\.cdn\.example\.test\/films/, 'a port that is given stays')
  const refusals: readonly (readonly [object, number, RegExp])[] = [
    [{}, 400, /or \/path must be given/],
    [{ url: origin, path: '/films/a' }, 400, /and not both/],
    [{ url: `${origin}/open/x` }, 400, /does not have signed access/],
    [{ url: 'http://other.test/films/a.mp4' }, 400, /other\.test is no host of the distribution site/],
    [{ path: 'films/a.mp4' }, 400, /begins with a slash/],
    [{ path: '/films/a', domain: 'www.example.test@other.test' }, 400, /is no domain/],
    [{ path: '/films/a', domain: 'other.test' }, 400, /is no host/],
    [{ path: '/films/a', resource: '*' }, 400, /has no wildcards/],
    [{ path: '/films/a', resource: 'http://*/films/*' }, 400, /has no wildcards/],
    [{ path: '/films/a', resource: 'http://www.example.test*' }, 400, /has no wildcards/],
    [{ kind: 'cookies', path: '/films/a', resource: 'http://*.example.test/films/*' }, 400, /has no wildcards/],
    [{ kind: 'cookies', path: '/films/a', resource: 'http://other.test/*' }, 400, /has no wildcards/],
    [{ path: '/films/a', keyId: keyPairId }, 400, /does not have the private key/],
    [{ path: '/films/a', keyId: 'KNOBODY' }, 404, /no key "KNOBODY"/],
    [{ path: '/films/a', expiresAt: '2020-01-01T00:00:00Z' }, 400, /already be expired/],
    [{ path: '/films/a', expiresInSeconds: 31_536_001 }, 400, /expiresInSeconds/],
    [{ path: '/films/a', expiresAt: '2040-01-01T00:00:00Z', expiresInSeconds: 1 }, 400, /excludes/],
    [{ path: '/films/a', expiresAt: '2030-12-31T23:59:60Z' }, 400, /^\/expiresAt must match format/],
    [{ path: '/films/a', startsAt: '0001-01-01T00:00:00Z' }, 400, /^\/startsAt must not be before 1970/],
    [{ path: '/films/a', startsAt: '2030-12-31T23:59:60Z' }, 400, /^\/startsAt must match format/],
  ]
  for (const [body, status, detail] of refusals) {
    const refused = await sign(body)
    t.match(refused, { status, json: { detail } }, JSON.stringify(body))
  }
  const missing = await signed({ method: 'POST', path: '/api/v1/distributions/none/sign', body: { path: '/' } })
  t.match(missing, { status: 404, json: { code: 'distribution_not_found' } })

  await users.createUser({ accessKey: 'signer', secretKey: userSecret })
  await users.putPolicy('sign', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 'admin:SignDistributionURL' }],
  })
  await users.putPolicy('deny', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Deny', Action: 'admin:SignDistributionURL', Resource: 'arn:aws:s3:::films' }],
  })
  const signer = site.signedBy('signer', userSecret)
  t.equal((await sign({ path: '/films/a.mp4' }, signer)).status, 403)
  await users.attachPolicies({ user: 'signer' }, ['sign'])
  t.equal((await sign({ path: '/films/a.mp4' }, signer)).status, 200)
  await users.attachPolicies({ user: 'signer' }, ['deny'])
  t.equal((await sign({ path: '/films/a.mp4' }, signer)).status, 403, 'denied for the bucket')
})

t.test('the order of the refusals', async t => {
  const good = sdkUrl('/films/a.mp4')
  const bad = `${good}x`
  const missing = sdkUrl('/films/none')
  t.same([await statusOf(missing), await statusOf(`${missing}x`)], [404, 403], 'the signature before the origin')
  t.equal(await statusOf('/films/%zz'), 400, 'the path before the signature')
  t.equal(await statusOf('/films/a.mp4', { method: 'POST' }), 405, 'the method before the signature')
  const headers = { Origin: 'https://app.test', 'Access-Control-Request-Method': 'GET' }
  const preflight = await get('/films/a.mp4', { method: 'OPTIONS', headers })
  t.match(
    preflight,
    { status: 204, headers: { 'access-control-allow-origin': 'https://app.test' } },
    'a preflight needs none',
  )
  const conditional = { headers: { 'If-None-Match': '*' } }
  t.same([await statusOf(good, conditional), await statusOf(bad, conditional)], [304, 403])

  const restricted = { originSecretHeader: { name: 'X-Origin', value: 'a-secret-of-an-origin' } }
  await site.publish({ ...base, restrictions: restricted })
  const refused = await get(good)
  t.equal(refused.status, 403)
  t.match(await recordOf(refused), { tags: { reason: 'origin_secret' } }, 'restrictions before the signature')
  const withSecret = { headers: { 'X-Origin': 'a-secret-of-an-origin' } }
  t.same([await statusOf(good, withSecret), await statusOf(bad, withSecret)], [200, 403])

  const redirects = [{ from: '/films/old', to: '/films/new' }]
  await site.publish({ ...base, redirects, restrictions: { rateLimit: { requestsPerSecond: 1, burst: 2 } } })
  t.equal(await statusOf('/films/old'), 302, 'redirects before the signature')
  const statuses = [await statusOf(bad), await statusOf(bad), await statusOf(bad)]
  t.ok(statuses.includes(429) && statuses[0] === 403, `the rate limit before the signature: ${statuses}`)
  await site.publish(base)
})

t.test('records have the reason and the id of the key, and nothing that opens anything', async t => {
  const good = sdkUrl('/films/a.mp4')
  const signature = /Signature=([^&]*)/.exec(good)![1]!
  const answers = [
    await get(good),
    await get(`${good}x`),
    await get(good.replace(keyPairId, 'KSOMEBODY')),
    await get('/films/a.mp4'),
    await get(good.replace('a.mp4', 'b.mp4')),
  ]
  const records = []
  for (const answer of answers) records.push(await recordOf(answer))
  t.same(
    records.map(({ type, tags: { reason, keyId } }) => [type, reason, keyId]),
    [
      ['web', undefined, keyPairId],
      ['web', 'malformed', keyPairId],
      ['web', 'unknown_key', undefined],
      ['web', 'missing', undefined],
      ['web', 'bad_signature', keyPairId],
    ],
    'what somebody sends as the id of a key is in no record',
  )
  t.same(
    answers.map(({ status }) => status),
    [200, 403, 403, 403, 403],
  )
  const bodies = answers.slice(1).map(({ body }) => body.replace(/[0-9A-F]{16}/, ''))
  t.same(new Set(bodies).size, 1, 'the client is told no reason')
  t.equal(answers[1]!.headers['cache-control'], 'no-store')
  t.notMatch(JSON.stringify(records), signature)
  t.notMatch(JSON.stringify(site.kernel.logs), signature)
})

t.test('no cache in front may keep what a signature opened, whatever the object says', async t => {
  await site.put('films', {
    'films/public.js': { body: 'x', CacheControl: 'public, max-age=3600, s-maxage=86400' },
    'films/page.html': { body: 'x', CacheControl: 'no-cache' },
    'films/secret.txt': { body: 'x', CacheControl: 'no-store' },
    'open/public.js': { body: 'x', CacheControl: 'public, max-age=3600' },
  })
  const control = async (path: string) => (await get(sdkUrl(path))).headers['cache-control']
  t.equal(await control('/films/public.js'), 'private, max-age=3600')
  t.equal(await control('/films/public.js'), 'private, max-age=3600', 'from the cache of the server, too')
  t.equal(await control('/films/a.mp4'), 'private', 'without a word of the object, caches may guess')
  t.equal(await control('/films/page.html'), 'private, no-cache')
  t.equal(await control('/films/secret.txt'), 'no-store')
  t.equal(await control('/films/missing'), 'private', 'that there is nothing is told to who has a signature')
  t.equal((await get('/open/public.js')).headers['cache-control'], 'public, max-age=3600')
  await site.publish({
    ...base,
    headers: { response: { 'CDN-Cache-Control': 'max-age=600' } },
    behaviors: [{ ...base.behaviors[0], cache: { cacheControl: 'Public, max-age=60, immutable' } }, base.behaviors[1]],
  })
  const { headers } = await get(sdkUrl('/films/a.mp4'))
  t.equal(headers['cache-control'], 'private, max-age=60, immutable')
  t.equal(headers['cdn-cache-control'], undefined)
  t.equal((await get('/open/public.js')).headers['cdn-cache-control'], 'max-age=600')
  await site.publish(base)
})

t.test('a distribution and its key group', async t => {
  const put = (body: object) => signed({ method: 'PUT', path: '/api/v1/distributions/other', body })
  const other = { ...base, id: 'other', aliases: ['other.test'] }
  const without = await put({ ...other, defaultBehavior: {} })
  t.match(without, {
    status: 400,
    json: { code: 'invalid_distribution', errors: [{ element: '/behaviors/0/signing/keyGroup' }] },
  })
  const unknown = await put({ ...other, defaultBehavior: { signing: { keyGroup: 'none' } } })
  t.match(unknown, { status: 404, json: { code: 'key_group_not_found', detail: /"none"/ } })
  t.equal((await signed({ path: '/api/v1/distributions/other' })).status, 404, 'nothing was stored')
  t.same((await signed({ path: '/api/v1/keygroups/films' })).json.usedBy, ['site'])
  const refused = await signed({ method: 'DELETE', path: '/api/v1/keygroups/films' })
  t.match(refused, { status: 409, json: { code: 'key_group_in_use' } })

  // Either the distribution or the deletion: never a distribution without its group.
  for (let round = 0; round < 10; round++) {
    await keyGroups.create('raced', { keys: [{ publicKey }] })
    const [saved, deleted] = await Promise.all([
      put({ ...other, defaultBehavior: { signing: { keyGroup: 'raced' } } }),
      signed({ method: 'DELETE', path: '/api/v1/keygroups/raced' }),
    ])
    const isThere = await keyGroups.exists('raced')
    t.match(`${saved.status} ${deleted.status}`, isThere ? /^20[01] 409$/ : /^404 204$/)
    await signed({ method: 'DELETE', path: '/api/v1/distributions/other' })
    if (isThere) await keyGroups.delete('raced')
  }
})

t.test('a block of public access leaves signed access alone', async t => {
  const block = (enabled: boolean) =>
    signed({ method: 'PUT', path: '/api/v1/buckets/films/block-public', body: { enabled } })
  await block(true)
  t.same([await statusOf(sdkUrl('/films/a.mp4')), await statusOf('/open/x')], [200, 403])
  await block(false)
})

t.test('a key that goes takes its URLs with it, from the acknowledgement on', async t => {
  const url = sdkUrl('/films/a.mp4')
  const { keys } = await keyGroups.get('films')
  const put = (enabled: boolean) =>
    signed({
      method: 'PUT',
      path: '/api/v1/keygroups/films',
      body: { keys: keys.map(({ id }) => ({ id, enabled: id !== keyPairId || enabled })) },
    })
  t.equal(await statusOf(url), 200)
  for (const enabled of [false, true, false, true]) {
    t.equal((await put(enabled)).status, 200)
    t.equal(await statusOf(url), enabled ? 200 : 403)
  }
  t.equal((await signed({ method: 'DELETE', path: `/api/v1/keygroups/films/keys/${keyPairId}` })).status, 204)
  t.equal(await statusOf(url), 403)
  t.equal((await ask(webPort, '/open/x', { host })).status, 200)
})
