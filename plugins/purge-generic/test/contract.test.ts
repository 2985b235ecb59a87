/** The contract: against an HTTP cache with `PURGE`, whose paths may end in an asterisk, and against a receiver of signed documents. */
import { createHmac } from 'node:crypto'
import { startReceiver } from 'svc/plugins/http-client/testing'
import { type PurgeWebhookSubject, purgeWebhookContract } from 'svc/plugins/purge/contract'
import { createTestCdn, createTestContext } from 'svc/plugins/purge/testing'
import t, { type Test } from 'tap'
import plugin from '../index.ts'
import { GenericSettings, settingsProblems } from '../settings.ts'
import { connectGeneric } from '../webhook.ts'

const kind = {
  description: plugin.description ?? '',
  settings: GenericSettings,
  validate: settingsProblems,
  limits: { perSecond: 100, burst: 200 },
  connect: connectGeneric,
}
const token = 'tok3n-of-the-cache'
const clientSecret = 's3cret-of-the-receiver'

async function startCache(t: Test): Promise<PurgeWebhookSubject> {
  const receiver = await startReceiver(t)
  const cdn = createTestCdn()
  let next: { status: number; headers: Readonly<Record<string, string>> } | undefined
  receiver.answer = ({ method, path, headers }, response) => {
    if (next !== undefined) {
      response.writeHead(next.status, next.headers).end()
      next = undefined
      return
    }
    if (headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end()
    const host = String(headers.host)
    const tag = headers['x-tag']
    if (method !== 'PURGE' || !path.startsWith('/')) return void response.writeHead(400).end()
    if (tag !== undefined && tag !== '') cdn.purgeTag(String(tag))
    else if (path.endsWith('*')) cdn.purgeStart(`${host}${path.slice(0, -1)}`)
    else if (cdn.has(`https://${host}${path}`)) cdn.purgeUrl(`https://${host}${path}`)
    else return void response.writeHead(404).end()
    response.writeHead(200).end()
  }
  const settings = {
    url: `http://127.0.0.1:${receiver.port}{path}`,
    method: 'PURGE',
    headers: { authorization: 'Bearer {token}', Host: '{host}', 'x-tag': '{tag}' },
    body: '',
    scheme: 'https',
    token,
  }
  return {
    kind,
    settings,
    cdn,
    answerNext(status, headers = {}) {
      next = { status, headers }
    },
    hang: () => receiver.hang(),
    wrongCredentials: { ...settings, token: 'an0ther-token' },
  }
}

async function startDocuments(t: Test): Promise<PurgeWebhookSubject> {
  const receiver = await startReceiver(t)
  const cdn = createTestCdn()
  let next: { status: number; headers: Readonly<Record<string, string>> } | undefined
  receiver.answer = ({ method, headers, body }, response) => {
    if (next !== undefined) {
      response.writeHead(next.status, next.headers).end()
      next = undefined
      return
    }
    const [, second, signed] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-svc-signature'])) ?? []
    const expected = createHmac('sha256', clientSecret).update(`${second}.${body}`).digest('hex')
    if (signed !== expected) return void response.writeHead(401).end()
    if (method !== 'POST' || headers['x-svc-event'] !== 'cache.purge') return void response.writeHead(400).end()
    const { id, distribution, createdAt, paths, urls, patterns, tags, all, soft, domain } = JSON.parse(body)
    const isWhole = distribution === 'site' && id === headers['x-svc-delivery'] && !Number.isNaN(Date.parse(createdAt))
    if (!isWhole || typeof soft !== 'boolean' || paths.length > 1000) return void response.writeHead(400).end()
    if (all) cdn.purgeAll()
    for (const url of urls) cdn.purgeUrl(url)
    for (const tag of tags) cdn.purgeTag(tag)
    if (domain !== undefined) cdn.purgeStart(`${domain}/`)
    for (const { type, pattern, host } of patterns) {
      if (type === 'prefix') cdn.purgeStart(`${host}${pattern}`)
      else {
        const expression = type === 'regex' ? new RegExp(pattern) : new RegExp(`^${pattern.replaceAll('*', '[^/]*')}$`)
        for (const url of cdn.urls()) if (expression.test(new URL(url).pathname)) cdn.purgeUrl(url)
      }
    }
    response.writeHead(204).end()
  }
  const settings = {
    url: `http://127.0.0.1:${receiver.port}/purges`,
    method: 'POST',
    headers: {},
    body: '',
    scheme: 'https',
    clientSecret,
  }
  return {
    kind,
    settings,
    cdn,
    answerNext(status, headers = {}) {
      next = { status, headers }
    },
    hang: () => receiver.hang(),
    wrongCredentials: { ...settings, clientSecret: 'an0ther-s3cret-of-it' },
  }
}

t.test('an HTTP cache with PURGE', t => purgeWebhookContract(t, startCache))
t.test('a receiver of signed documents', t => purgeWebhookContract(t, startDocuments))

t.test('values are escaped for where they stand', async t => {
  const receiver = await startReceiver(t)
  const site = { distribution: 'site', hosts: ['www.example.test'] }
  const send = async (settings: object) => {
    const complete = { method: 'POST', headers: {}, body: '', scheme: 'https', ...settings } as never
    const webhook = connectGeneric(complete, createTestContext(t))
    const path = '/a "b"/ü&x=1\r\ny'
    const { calls } = webhook.plan([{ kind: 'url', host: 'www.example.test', path, isSoft: false }], site)
    for (const call of calls) await webhook.send(call, new AbortController().signal)
    return receiver.requests.at(-1)!
  }
  const base = `http://127.0.0.1:${receiver.port}`
  t.equal((await send({ url: `${base}/p?u={url}` })).path.includes('&x'), false)
  t.equal(
    new URL(`${base}${(await send({ url: `${base}/p?u={path}` })).path}`).searchParams.get('u'),
    '/a%20%22b%22/%C3%BC&x=1%0D%0Ay',
  )
  t.same(JSON.parse((await send({ url: base, body: '{"pattern":"{pattern}"}' })).body), {
    pattern: '/a "b"/ü&x=1\r\ny',
  })
  const { headers } = await send({ url: base, headers: { 'x-pattern': '{pattern}' } })
  t.equal(headers['x-pattern'], '/a "b"/%C3%BC&x=1%0D%0Ay')
})

t.test('a token is sent where the settings name it, and otherwise as Authorization', async t => {
  const receiver = await startReceiver(t)
  const site = { distribution: 'site', hosts: ['www.example.test'] }
  const send = async (settings: object) => {
    const url = `http://127.0.0.1:${receiver.port}{path}`
    const complete = { url, method: 'PURGE', headers: {}, body: '', scheme: 'https', token, ...settings } as never
    const webhook = connectGeneric(complete, createTestContext(t))
    const { calls } = webhook.plan([{ kind: 'url', host: 'www.example.test', path: '/', isSoft: false }], site)
    for (const call of calls) await webhook.send(call, new AbortController().signal)
    return receiver.requests.at(-1)!
  }
  const authorizationOf = async (settings: object) => (await send(settings)).headers.authorization
  t.equal(await authorizationOf({}), `Bearer ${token}`)
  t.equal(await authorizationOf({ token: 'Basic dXNlcjpwYXNz' }), 'Basic dXNlcjpwYXNz')
  t.equal(await authorizationOf({ token: '' }), undefined)
  t.equal(await authorizationOf({ token: undefined }), undefined)
  t.equal(await authorizationOf({ headers: { Authorization: 'Basic YTpi' } }), 'Basic YTpi')
  t.equal(await authorizationOf({ body: 'token={token}' }), undefined)
  t.match((await send({ headers: { 'X-Purge-Token': '{token}' } })).headers, {
    'x-purge-token': token,
    authorization: undefined,
  })
})

t.test('no item decides on the host: the token is sent to no other', async t => {
  const receiver = await startReceiver(t)
  const site = { distribution: 'site', hosts: ['127.0.0.1'] }
  const send = async (url: string, operation: object) => {
    const headers = { authorization: 'Bearer {token}', 'x-type': '{type}' }
    const settings = { method: 'PURGE', headers, body: '', scheme: 'http', url, token }
    const webhook = connectGeneric(settings as never, createTestContext(t))
    const { calls } = webhook.plan([{ host: '127.0.0.1', isSoft: false, ...operation } as never], site)
    for (const call of calls) await webhook.send(call, new AbortController().signal)
  }
  const stranger = `@127.0.0.1:${receiver.port}/`
  const regex = { kind: 'pattern', type: 'regex', pattern: stranger, literal: '/', isCaseInsensitive: false }
  const other = { name: 'CallFailure', isPermanent: true, message: /would change the host of the URL/ }
  for (const [url, operation] of [
    ['http://10.0.0.7{pattern}', regex],
    ['http://{host}{pattern}', regex],
    ['http://10.0.0.7{path}', { ...regex, literal: stranger }],
    [`http://{tag}:${receiver.port}/`, { kind: 'tag', tag: '127.0.0.1' }],
  ] as const) {
    await t.rejects(send(url, operation), other, url)
  }
  t.same(receiver.requests, [])
  await send(`http://127.0.0.1:${receiver.port}{pattern}`, { ...regex, pattern: '/docs/' })
  await send(`http://{host}:${receiver.port}/{pattern}?{tag}`, regex)
  t.equal(receiver.requests.length, 2)
})

t.test('settings that cannot be', async t => {
  const problems = (settings: object) =>
    settingsProblems({ method: 'POST', headers: {}, body: '', scheme: 'https', ...settings } as never).map(
      ({ key, problem }) => `${key} ${problem}`,
    )
  t.same(problems({ url: 'https://{host}{path}', method: 'PURGE' }), [])
  t.same(problems({ url: '{url}', method: 'BAN' }), [])
  t.match(problems({ url: 'nothing' }), [/url must be an absolute URL/])
  t.match(problems({ url: 'https://a.test/{nothing}' }), [/has \{nothing\}, which is no placeholder/])
  t.match(problems({ url: 'https://a.test/?t={token}{url}' }), [/must not have \{token\}/])
  t.match(problems({ url: 'https://a.test/', headers: { 'Transfer-Encoding': 'x' } }), [
    /cannot have "Transfer-Encoding"/,
  ])
  t.match(problems({ url: 'https://a.test/', method: 'GET' }), [/cannot be GET/])
})
