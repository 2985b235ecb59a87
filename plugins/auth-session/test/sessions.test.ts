/** Sessions, their throttle and their rules about origins; logins over the real server. */
import { createSecretKey } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { rootPassword, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import type { Exchange } from 'svc/plugins/http/api'
import { authProviderContract, plainRequest } from 'svc/plugins/iam/contract'
import { createFakeClock, createSystemPorts } from 'svc/testing'
import t from 'tap'
import { cookieName, createSessionCookies, hasSessionCookie, readSessionCookies, secureCookieName } from '../cookie.ts'
import { createOriginCheck } from '../origin.ts'
import { createSessionProvider } from '../provider.ts'
import { createAuthSession } from '../service.ts'
import { createSessions, sessionLifetimeMs, sessionsMax, sessionsPerUserMax } from '../sessions.ts'
import { createLoginThrottle, refusalMs, windowMs } from '../throttle.ts'

const { random } = createSystemPorts()
const identityOf = (accessKey: string) => ({
  accessKey,
  isRoot: false,
  ownerId: 'a'.repeat(64),
  displayName: accessKey,
})

const browser = { get: () => ({ session_duration: sessionLifetimeMs, upload_max_size: 1 }) }

/** Users with secrets that a test changes. */
function createUsers(secrets: Record<string, string>) {
  const listeners = new Set<(accessKey: string | undefined) => void>()
  const calls: string[] = []
  return {
    secrets,
    calls,
    tell(accessKey: string | undefined) {
      for (const listener of listeners) listener(accessKey)
    },
    credentials(accessKey: string) {
      const secret = secrets[accessKey]
      if (secret === undefined) return undefined
      return {
        identity: identityOf(accessKey),
        signingSecret: createSecretKey(`AWS4${secret}`, 'utf8'),
        verificationKey: createSecretKey(secret, 'utf8'),
      }
    },
    verificationKey: (accessKey: string) =>
      secrets[accessKey] === undefined ? undefined : createSecretKey(secrets[accessKey], 'utf8'),
    verifySecret(accessKey: string, secretKey: string) {
      calls.push(accessKey)
      return secrets[accessKey] === secretKey ? identityOf(accessKey) : undefined
    },
    watchSecrets(listener: (accessKey: string | undefined) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

t.test('a session is found by its cookie alone, and keeps nothing that gives access', async t => {
  const clock = createFakeClock(0)
  const sessions = createSessions({ iam: createUsers({ ada: 'secret-of-ada' }), clock, random })
  const { cookie, session } = sessions.begin(identityOf('ada'))
  t.match(cookie, /^[\w-]{43}$/)
  t.notMatch(JSON.stringify(session), cookie)
  const found = sessions.find(cookie)
  t.equal(found?.csrfToken, session.csrfToken)
  t.equal(found?.id, session.id)
  t.not(session.id, cookie)
  t.notMatch(session.csrfToken, cookie)
  t.ok(found?.hasCsrfToken(session.csrfToken))
  for (const wrong of [undefined, '', 'x', session.csrfToken.slice(1), `${session.csrfToken}x`, session.id]) {
    t.notOk(found?.hasCsrfToken(wrong))
  }
  for (const wrong of ['', 'x', session.id, cookie.slice(1), `${cookie}x`, cookie.toUpperCase(), '__proto__']) {
    t.equal(sessions.find(wrong), undefined)
  }
  const second = sessions.begin(identityOf('ada'))
  t.not(second.cookie, cookie)
  t.notOk(second.session.hasCsrfToken(session.csrfToken), 'the token of another session is worth nothing')
  await clock.advance(sessionLifetimeMs - 1)
  t.ok(sessions.find(cookie))
  await clock.advance(1)
  t.equal(sessions.find(cookie), undefined)
  sessions.close()
})

t.test('a session ends with its credentials, and listeners are notified', async t => {
  const clock = createFakeClock(0)
  const iam = createUsers({ ada: 'first-secret', bob: 'secret-of-bob' })
  const service = createAuthSession({ iam, clock, random, publicUrl: undefined, browser })
  service.start()
  const ended: string[] = []
  const begin = (accessKey: string) => {
    const { cookie, session } = service.begin(identityOf(accessKey))
    session.onEnd(() => ended.push(session.id))
    const exchange = { request: { headers: { cookie: `${cookieName}=${cookie}` } } } as unknown as Exchange
    return { session, find: () => service.find(exchange) }
  }
  const ada = begin('ada')
  const bob = begin('bob')
  ada.session.onEnd(() => t.fail('forgotten'))()
  iam.tell(undefined)
  t.ok(ada.find(), 'nothing has changed')
  iam.secrets.ada = 'second-secret'
  t.equal(ada.find(), undefined)
  t.same(ended, [ada.session.id])
  delete iam.secrets.bob
  iam.tell('bob')
  t.same(ended, [ada.session.id, bob.session.id], 'without being asked for')
  iam.secrets.bob = 'secret-of-bob'
  t.equal(bob.find(), undefined, 'what has ended does not come back')

  const one = begin('ada')
  const two = begin('ada')
  service.endAll('ada', two.session.id)
  t.equal(one.find(), undefined)
  t.ok(two.find())
  await clock.advance(sessionLifetimeMs)
  t.equal(ended.at(-1), two.session.id, 'a stream ends with its time')
  const last = begin('ada')
  service.stop()
  t.equal(ended.at(-1), last.session.id)
  t.equal(clock.pending(), 0)
})

t.test('the provider keeps the contract', t =>
  authProviderContract(t, t => {
    const iam = createUsers({ ada: 'secret-of-ada' })
    const service = createAuthSession({ iam, clock: createFakeClock(0), random, publicUrl: undefined, browser })
    t.teardown(service.stop)
    const withCookie = (value: string) => ({
      ...plainRequest,
      api: 'admin' as const,
      headers: { ...plainRequest.headers, cookie: `${secureCookieName}=${value}` },
    })
    const { cookie } = service.begin(identityOf('ada'))
    return {
      provider: createSessionProvider(service),
      good: () => withCookie(cookie),
      wrong: () => [withCookie('A'.repeat(43)), { ...withCookie(cookie), api: 's3' }],
      secrets: [cookie, 'secret-of-ada'],
    }
  }),
)

t.test('sessions are bounded, by user and in all', async t => {
  const users = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`user${n}`, 'secret-of-user']))
  const sessions = createSessions({
    iam: createUsers({ ...users, ada: 'secret-of-ada' }),
    clock: createFakeClock(0),
    random,
  })
  const cookies = Array.from({ length: sessionsPerUserMax + 1 }, () => sessions.begin(identityOf('ada')).cookie)
  t.equal(sessions.size, sessionsPerUserMax)
  t.equal(sessions.find(cookies[0]), undefined, 'the oldest one went')
  t.ok(sessions.find(cookies[1]))
  for (let n = 0; n < sessionsMax + 10; n++) sessions.begin(identityOf(`user${n % 200}`))
  t.equal(sessions.size, sessionsMax)
  t.equal(sessions.find(cookies[1]), undefined, 'the user with the most sessions gave one')
  sessions.close()
  t.equal(sessions.size, 0)
})

t.test('nobody signs others out by signing in, with however many access keys', async t => {
  const owned = (key: string, userName: string) => ({ ...identityOf(key), userName, kind: 'access-key' as const })
  const names = [
    ...Array.from({ length: 1000 }, (_, n) => `KEY${n}`),
    ...Array.from({ length: 200 }, (_, n) => `user${n}`),
    ...['root', 'ROOTKEY', 'LIMITED', 'ada'],
  ]
  const sessions = createSessions({
    iam: createUsers(Object.fromEntries(names.map(name => [name, 'secret-of-name']))),
    clock: createFakeClock(0),
    random,
  })
  const root = sessions.begin({ ...identityOf('root'), isRoot: true }).cookie
  const rootKey = sessions.begin({ ...owned('ROOTKEY', 'root'), isRoot: true }).cookie
  const ada = sessions.begin(identityOf('ada')).cookie
  const own = sessions.begin(owned('KEY0', 'mallory')).cookie
  for (let n = 0; n < sessionsMax + 100; n++) sessions.begin(owned(`KEY${1 + (n % 999)}`, 'mallory'))
  t.equal(sessions.size, 3 + sessionsPerUserMax, 'all keys of a user count together')
  t.equal(sessions.find(own), undefined)
  const kept = sessions.begin(owned('KEY0', 'mallory')).cookie
  for (let n = 0; n < 200; n++) sessions.begin(owned('KEY1', 'mallory'))
  t.ok(sessions.find(kept), 'a key with many sessions gives its own')
  for (let n = 0; n < 200; n++) sessions.begin(owned('LIMITED', 'root'))
  t.ok(sessions.find(root), "the holder of a key of root with few rights does not end root's sessions")

  for (let n = 0; n < 12_000; n++) sessions.begin(identityOf(`user${n % 200}`))
  t.equal(sessions.size, sessionsMax)
  for (const cookie of [root, rootKey, ada]) t.ok(sessions.find(cookie), 'those with the most sessions give one')
  sessions.close()
})

t.test('five failures on a key, twenty on any, in five minutes: one minute of refusal', async t => {
  const clock = createFakeClock(0)
  const throttle = createLoginThrottle(clock)
  const refused = (client: string, key: string) => {
    try {
      throttle.check(client, key)
      return ''
    } catch (error) {
      const { code, status, extra } = error as { code: string; status: number; extra: Record<string, string> }
      return `${status} ${code} ${extra['retry-after']}`
    }
  }
  for (let count = 0; count < 4; count++) throttle.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '')
  throttle.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '429 too_many_requests 60')
  t.equal(refused('192.0.2.2', 'ada'), '', 'the key itself is not locked')
  t.equal(refused('192.0.2.1', 'bob'), '')
  await clock.advance(refusalMs - 500)
  t.equal(refused('192.0.2.1', 'ada'), '429 too_many_requests 1')
  await clock.advance(500)
  t.equal(refused('192.0.2.1', 'ada'), '')
  throttle.succeeded('192.0.2.1', 'ada')
  throttle.failed('192.0.2.1', 'ada')
  t.equal(refused('192.0.2.1', 'ada'), '', 'a success forgets the failures before it')

  for (let count = 0; count < 20; count++) throttle.failed('192.0.2.3', `key${count}`)
  t.match(refused('192.0.2.3', 'another'), /^429/)
  await clock.advance(refusalMs)
  throttle.succeeded('192.0.2.3', 'key1')
  throttle.failed('192.0.2.3', 'key77')
  t.match(refused('192.0.2.3', 'x'), /^429/, 'a success with one key does not pardon guesses at others')

  for (let count = 0; count < 4; count++) throttle.failed('192.0.2.4', 'ada')
  await clock.advance(windowMs)
  throttle.failed('192.0.2.4', 'ada')
  t.equal(refused('192.0.2.4', 'ada'), '', 'old failures do not count')

  for (let count = 0; count < 30_000; count++)
    throttle.failed(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`, 'k')
  t.ok(throttle.size <= 5_000)
  await clock.advance(windowMs)
  throttle.failed('192.0.2.9', 'k')
  t.equal(throttle.size, 1)
})

t.test('a customer with a wider IPv6 network has a bound: 100 failures of a /56, 400 of a /48', async t => {
  const clock = createFakeClock(0)
  const throttle = createLoginThrottle(clock)
  const isRefused = (client: string, key = 'x') => {
    try {
      throttle.check(client, key)
      return false
    } catch (error) {
      t.match(error, { code: 'too_many_requests', extra: { 'retry-after': '60' }, tags: { throttled: 'ip' } })
      return true
    }
  }
  /** One failure of each /64, with keys of their own. */
  const fail = (subnet: number) => throttle.failed(`2001:db8:6:${subnet.toString(16)}::1`, `key${subnet}`)
  for (let subnet = 0; subnet < 99; subnet++) fail(subnet)
  t.notOk(isRefused('2001:db8:6:ff::1'))
  throttle.succeeded('2001:db8:6:62::1', 'key98')
  fail(99)
  t.ok(isRefused('2001:db8:6:ff::1'), 'another /64 of the /56')
  t.notOk(isRefused('2001:db8:6:100::1'), 'another /56 of the /48')
  for (let subnet = 0x100; subnet < 0x100 + 90; subnet++) fail(subnet)
  for (let subnet = 0x200; subnet < 0x200 + 90; subnet++) fail(subnet)
  for (let subnet = 0x300; subnet < 0x300 + 90; subnet++) fail(subnet)
  for (let subnet = 0x400; subnet < 0x400 + 29; subnet++) fail(subnet)
  t.notOk(isRefused('2001:db8:6:ff00::1'), '399 failures')
  fail(0x500)
  t.ok(isRefused('2001:db8:6:ff00::1'), 'another /56 of the /48')
  t.notOk(isRefused('2001:db8:7::1'), 'another /48')
  await clock.advance(refusalMs)
  t.notOk(isRefused('2001:db8:6:ff00::1'))
  await clock.advance(windowMs)
  fail(0x600)
  t.notOk(isRefused('2001:db8:6:ff00::1'), 'old failures do not count')
  t.equal(throttle.size, 1)
})

t.test('origins', async t => {
  const judge = createOriginCheck('https://console.example/some/path')
  const from = (headers: IncomingHttpHeaders, host = 'storage.example:9001', secure = false) =>
    judge({ request: { headers }, host, secure } as unknown as Exchange)
  const table: [headers: IncomingHttpHeaders, expected: string][] = [
    [{}, 'unknown'],
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }, 'console'],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://storage.example:9001' }, 'foreign'],
    [{ 'sec-fetch-site': 'cross-site' }, 'foreign'],
    [{ 'sec-fetch-site': 'none' }, 'unknown'],
    [{ 'sec-fetch-site': 'Same-Origin' }, 'foreign'],
    [{ origin: 'http://storage.example:9001' }, 'console'],
    [{ origin: 'http://storage.example:9000' }, 'foreign'],
    [{ origin: 'https://storage.example:9001' }, 'foreign'],
    [{ origin: 'http://storage.example' }, 'foreign'],
    [{ origin: 'http://storage.example:9001.evil.example' }, 'foreign'],
    [{ origin: 'http://storage.example:9001@evil.example' }, 'foreign'],
    [{ origin: 'https://console.example' }, 'console'],
    [{ origin: 'null' }, 'foreign'],
    [{ origin: '' }, 'foreign'],
    [{ origin: 'http://evil.example', referer: 'http://storage.example:9001/' }, 'foreign'],
    [{ referer: 'http://storage.example:9001/buckets' }, 'console'],
    [{ referer: 'http://evil.example/http://storage.example:9001/' }, 'foreign'],
    [{ referer: 'about:blank' }, 'foreign'],
  ]
  for (const [headers, expected] of table) t.equal(from(headers), expected, JSON.stringify(headers))
  t.equal(from({ origin: 'https://storage.example' }, 'storage.example:443', true), 'console')
})

t.test('cookies', async t => {
  const [one, two] = ['1'.repeat(43), '2'.repeat(43)] as const
  const read = (cookie: string | undefined, isSecure: boolean, more: Record<string, string> = {}) =>
    readSessionCookies({ headers: { cookie, ...more }, isSecure })
  const browser = { 'sec-fetch-site': 'same-origin' }
  t.same(read(undefined, false), [])
  const header = `a=b; svc_session=${one} ;svc_session=${two}; svc_session=${one}; xsvc_session=${one}; svc_session`
  t.same(read(header, false), [one, two])
  t.same(read(header, true, browser), [], 'with TLS any page of the host may have set these')
  t.same(read(header, true), [one, two], 'a script has no other pages')
  t.same(read(`${header}; __Host-svc_session=${two}`, true), [two])
  t.same(read(`${'svc_session=x;'.repeat(1000)}svc_session=${one}`, false), [one], 'junk takes no place')
  const many = Array.from({ length: 400 }, (_, n) => `svc_session=${String(n).padStart(43, '0')}`)
  t.equal(read(many.slice(0, 180).join(';'), false).length, 180, 'all that a browser keeps of a host')
  t.equal(read(many.join(';'), false).length, 256)
  t.ok(hasSessionCookie('svc_session=x'))
  t.ok(hasSessionCookie('__Host-svc_session=x'))
  t.notOk(hasSessionCookie('a=b; svc_session='))
})

t.test('cookies are set with the scheme and the path that browsers have, and remove others of their name', async t => {
  const plain = createSessionCookies(undefined)
  const end = 'HttpOnly; SameSite=Strict'
  t.same(plain.set('v', plain.isSecure({ secure: false }), 60), [
    `svc_session=v; Path=/; Max-Age=60; ${end}`,
    `svc_session=; Path=/api; Max-Age=0; ${end}`,
    `svc_session=; Path=/api/v1; Max-Age=0; ${end}`,
  ])
  t.same(plain.set('v', plain.isSecure({ secure: true }), 60), [
    `__Host-svc_session=v; Path=/; Max-Age=60; ${end}; Secure`,
    `svc_session=v; Path=/; Max-Age=60; ${end}; Secure`,
    `svc_session=; Path=/api; Max-Age=0; ${end}; Secure`,
    `svc_session=; Path=/api/v1; Max-Age=0; ${end}; Secure`,
  ])
  const below = createSessionCookies('http://example.test/console/')
  t.same(below.set('v', below.isSecure({ secure: false }), 60), [
    `svc_session=v; Path=/console; Max-Age=60; ${end}`,
    `svc_session=; Path=/; Max-Age=0; ${end}`,
    `svc_session=; Path=/api; Max-Age=0; ${end}`,
    `svc_session=; Path=/api/v1; Max-Age=0; ${end}`,
    `svc_session=; Path=/console/api; Max-Age=0; ${end}`,
    `svc_session=; Path=/console/api/v1; Max-Age=0; ${end}`,
  ])
  const [cleared, ...others] = below.clear(false)
  t.equal(cleared, `svc_session=; Path=/console; Max-Age=0; ${end}`)
  t.equal(others.length, 5)
  const unknownProxy = createSessionCookies('https://example.test/console/')
  t.ok(unknownProxy.isSecure({ secure: false }), 'the address says it where no trusted proxy does')
  t.match(unknownProxy.set('v', true, 60)[0], /^__Host-svc_session=v; Path=\/; .*; Secure$/)
})

const server = await startAdmin()
t.teardown(server.stop)
const attempt = (body: unknown, headers: Record<string, string> = {}) =>
  server.anonymous({ method: 'POST', path: '/api/v1/auth/login', body, headers })
const right = { accessKey: rootUser, secretKey: rootPassword }

t.test('a login: cookie, token in the body only, a new session each time', async t => {
  const planted = `${'A'.repeat(43)}`
  const answer = await attempt(right, { cookie: `svc_session=${planted}` })
  t.equal(answer.status, 200)
  const [cookie] = answer.headers['set-cookie'] as string[]
  t.match(cookie, /^svc_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  t.notMatch(cookie, planted, 'not the one that somebody put there')
  t.notMatch(cookie, answer.json.csrfToken)
  const [value] = cookie.split(';')
  t.notMatch(answer.text, value.slice('svc_session='.length))
  t.equal(Date.parse(answer.json.expiresAt) - Date.parse(answer.json.issuedAt), 43_200_000)
  const get = (cookies: string) => server.anonymous({ path: '/api/v1/auth/session', headers: { cookie: cookies } })
  t.same((await get(value)).json, answer.json)
  t.equal((await get(`svc_session=${planted}`)).status, 401)
  t.equal((await get(`svc_session=${planted}; ${value}`)).status, 200, 'a second cookie does not hide the right one')
  const junk = Array.from({ length: 100 }, (_, n) => `svc_session=${String(n).padStart(43, 'x')}`).join('; ')
  t.equal((await get(`${junk}; ${value}`)).status, 200, 'nor do many')
  const again = await attempt(right, { cookie: value })
  t.equal(again.status, 200)
  t.equal((await get(value)).status, 401, 'the session that the browser had is over')
})

t.test('cookies of two sessions are nobody, and both end: one of them was planted by another page', async t => {
  const [mine, planted, other] = await Promise.all([server.login(), server.login(), server.login()])
  const get = (...cookies: string[]) =>
    server.anonymous({ path: '/api/v1/auth/session', headers: { cookie: cookies.join('; ') } })
  t.equal((await get(mine.cookie, mine.cookie)).status, 200, 'twice the same one is one')
  const both = await get(planted.cookie, mine.cookie)
  t.equal(both.status, 401)
  t.equal(both.json.code, 'ambiguous_session')
  for (const { cookie } of [mine, planted]) t.equal((await get(cookie)).json.code, 'unauthenticated')
  const again = await attempt(right, { cookie: `${other.cookie}; ${planted.cookie}` })
  t.equal(again.status, 200)
  t.match(again.headers['set-cookie'], [/^svc_session=[\w-]{43}; Path=\/;/, /; Path=\/api;/, /; Path=\/api\/v1;/])
  t.equal((await get(other.cookie)).status, 401, 'a login ends all that the browser had')
})

t.test('a page whose browser has got another session is refused, also what it only reads', async t => {
  const [page, other] = await Promise.all([server.login(), server.login()])
  const ask = (path: string, csrfToken: string, method = 'GET') =>
    page.call({ method, path, body: {}, headers: { cookie: other.cookie, 'x-csrf-token': csrfToken } })
  for (const path of ['/api/v1/users', '/api/v1/buckets', '/api/v1/auth/session']) {
    const { status, json } = await ask(path, page.csrfToken)
    t.equal(`${status} ${json.code}`, '403 invalid_csrf_token', path)
    t.match(json.detail, /another session/)
    t.equal((await ask(path, other.csrfToken)).status, 200, path)
  }
  t.equal((await ask('/api/v1/auth/logout', page.csrfToken, 'POST')).json.code, 'invalid_csrf_token')
  t.equal((await ask('/api/v1/auth/session', other.csrfToken)).status, 200, 'it is still there')
})

t.test('behind a proxy: the client, the scheme and the host are those that it forwards', async t => {
  const config = {
    http: {
      address: '127.0.0.1:0',
      consoleAddress: '127.0.0.1:0',
      trustedProxies: ['127.0.0.1'],
      trustForwardedHost: true,
    },
  }
  const other = await startAdmin({ config })
  t.teardown(other.stop)
  const login = (body: object, headers: Record<string, string>) =>
    other.anonymous({ method: 'POST', path: '/api/v1/auth/login', body, headers })
  const forwarded = (client: string) => ({
    'x-forwarded-for': client,
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'console.example',
    origin: 'https://console.example',
  })
  const answer = await login(right, forwarded('192.0.2.1'))
  t.match(answer.headers['set-cookie'], [/^__Host-svc_session=[\w-]{43}; Path=\/; .*; Secure$/])
  const [cookie] = (answer.headers['set-cookie'] as string[])[0]!.split(';')
  const get = (value: string) =>
    other.anonymous({ path: '/api/v1/auth/session', headers: { ...forwarded('192.0.2.1'), cookie: value } })
  t.equal((await get(cookie!)).status, 200)
  const plain = cookie!.replace('__Host-', '')
  t.equal((await get(plain)).status, 200, 'a script has no other pages')
  const asBrowser = { ...forwarded('192.0.2.1'), 'sec-fetch-site': 'same-origin' }
  const byBrowser = (cookie: string) =>
    other.anonymous({ path: '/api/v1/auth/session', headers: { ...asBrowser, cookie } })
  t.equal((await byBrowser(cookie!)).status, 200)
  t.equal((await byBrowser(plain)).status, 401, 'one without the prefix can be of any page')
  t.equal((await login(right, { ...forwarded('192.0.2.1'), origin: 'http://console.example' })).status, 403)
  for (let count = 0; count < 5; count++) await login({ ...right, secretKey: 'wrong' }, forwarded('192.0.2.2'))
  t.equal((await login(right, forwarded('192.0.2.2'))).status, 429)
  t.equal((await login(right, forwarded('192.0.2.3'))).status, 200, 'other clients of the proxy are not refused')
})

t.test('users without the right to log in are refused', async t => {
  const codeOf = async (...parameters: Parameters<typeof attempt>) => {
    const { status, json } = await attempt(...parameters)
    return `${status} ${json.code}`
  }
  const own = `http://127.0.0.1:${server.port}`
  t.equal(await codeOf(right, { 'sec-fetch-site': 'cross-site' }), '403 cross_site_request')
  t.equal(await codeOf(right, { 'sec-fetch-site': 'same-site' }), '403 cross_site_request')
  t.equal(await codeOf(right, { origin: `http://127.0.0.1:${server.s3Port}` }), '403 cross_site_request')
  t.equal(await codeOf(right, { origin: 'null' }), '403 cross_site_request')
  t.equal((await attempt(right, { origin: own })).status, 200)
  t.equal((await attempt(right, { 'sec-fetch-site': 'same-origin' })).status, 200)
  const form = 'accessKey=admin&secretKey=change-me-please'
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', '']) {
    t.equal(await codeOf(form, { 'content-type': type }), '415 unsupported_media_type')
  }
  t.equal(await codeOf({ accessKey: rootUser, secretKey: `${rootPassword}\0` }), '401 invalid_credentials')
  t.equal(await codeOf({ accessKey: rootUser, secretKey: '' }), '400 invalid_argument')
  t.equal(await codeOf({ accessKey: rootUser, secretKey: 'x'.repeat(1025) }), '400 invalid_argument')
  t.equal(await codeOf({ accessKey: [rootUser], secretKey: rootPassword }), '400 invalid_argument')
})

t.test('an unknown user gets the same answer, and costs the same work, as a wrong secret', async t => {
  const iam = createUsers({ ada: 'secret-of-ada' })
  const service = createAuthSession({ iam, clock: createFakeClock(0), random, publicUrl: undefined, browser })
  t.equal(service.verify('192.0.2.1', 'ada', 'wrong'), undefined)
  t.equal(service.verify('192.0.2.1', 'nobody', 'wrong'), undefined)
  t.same(iam.calls, ['ada', 'nobody'], 'the secret is checked in the same way')
  const wrong = await attempt({ accessKey: rootUser, secretKey: 'wrong-secret' })
  const unknown = await attempt({ accessKey: 'nobody', secretKey: 'wrong-secret' })
  const { requestId: _one, ...wrongBody } = wrong.json
  const { requestId: _two, ...unknownBody } = unknown.json
  t.same(unknownBody, wrongBody)

  // With a wide margin: what must not be is that one of them skips the work. Medians of alternating rounds.
  const { iam: real } = server.kernel.services
  const times: Record<string, number[]> = { [rootUser]: [], nobody: [] }
  for (let round = 0; round < 300; round++) {
    for (const accessKey of [rootUser, 'nobody']) {
      const startNs = process.hrtime.bigint()
      for (let count = 0; count < 20; count++) real.verifySecret(accessKey, 'wrong-secret')
      times[accessKey].push(Number(process.hrtime.bigint() - startNs))
    }
  }
  const [known, missing] = Object.values(times).map(list => list.toSorted((a, b) => a - b)[150])
  t.ok(missing > known / 2 && missing < known * 2, `${known} ns and ${missing} ns for 20`)
})

t.test('guessing is throttled over HTTP, also with the right secret', async t => {
  const other = await startAdmin()
  t.teardown(other.stop)
  const login = (secretKey: string) =>
    other.anonymous({ method: 'POST', path: '/api/v1/auth/login', body: { accessKey: rootUser, secretKey } })
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => login(`wrong-${n}`)))
  t.same(answers.map(({ status }) => status).toSorted(), [...Array(5).fill(401), ...Array(7).fill(429)], 'at once, too')
  const refused = await login(rootPassword)
  t.equal(refused.status, 429)
  t.match(refused.json, { code: 'too_many_requests', type: 'urn:svc:error:too_many_requests' })
  t.ok(Number(refused.headers['retry-after']) <= 60 && Number(refused.headers['retry-after']) > 55)
})

t.test('no secret is in an answer, a record or the log', async t => {
  const secretKey = 'planted-secret-4711'
  const { cookie, csrfToken, call } = await server.login()
  await attempt({ accessKey: 'planted-user', secretKey })
  await attempt(`{"accessKey":"x","secretKey":"${secretKey}"`)
  await attempt({ accessKey: 'x', secretKey, [secretKey]: 1 }).then(({ status }) => t.equal(status, 400))
  await call({ path: '/api/v1/auth/session' })
  await call({ path: `/api/v1/buckets?token=${csrfToken}` })
  await call({ method: 'POST', path: '/api/v1/auth/logout' })
  const records = await server.kernel.services.audit.recent(1000)
  const all = JSON.stringify([server.kernel.logs, records])
  for (const secret of [secretKey, rootPassword, cookie.slice('svc_session='.length), csrfToken])
    t.notMatch(all, secret)
  t.match(records.find(({ api }) => api === 'logout')?.identity, { accessKey: rootUser, type: 'root' })
  t.match(records.find(({ api, status }) => api === 'login' && status === 200)?.identity, { accessKey: rootUser })
  t.match(
    records.find(({ api, status }) => api === 'login' && status === 401),
    {
      errorCode: 'invalid_credentials',
      identity: { type: 'anonymous' },
    },
  )
})
