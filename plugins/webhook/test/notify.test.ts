/** Events to real receivers: the contract, over HTTP and mutual TLS; the meaning of each answer; no token in messages or errors. */
import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { createTestHttpClient, makeCertificates, type Receiver, startReceiver } from 'svc/plugins/http-client/testing'
import { type NotifyTarget, PermanentDeliveryError } from 'svc/plugins/notify/api'
import { notifyTargetContract, receivedFrom, testMessage } from 'svc/plugins/notify/contract'
import t, { type Test } from 'tap'
import type { WebhookSettings } from '../api.ts'
import { createNotifyTargets } from '../notify-target.ts'
import { createTestWebhooks } from '../testing.ts'

const token = 'token-of-the-test-s3cret'
const log = pino({ level: 'silent' })

function kindOf(t: Test, names?: Record<string, readonly string[]>) {
  return createNotifyTargets(createTestWebhooks(createTestHttpClient(t, names)))
}

function settingsOf(change: Partial<WebhookSettings>): WebhookSettings {
  return {
    endpoint: '',
    auth_token: '',
    client_cert: '',
    client_key: '',
    ca_cert: '',
    tls_skip_verify: false,
    timeout: 1000,
    ...change,
  }
}

function subjectOf(t: Test, receiver: Receiver, more: Partial<WebhookSettings> = {}) {
  receiver.answer = ({ headers }, response) => {
    if (headers.authorization !== `Bearer ${token}`) receiver.requests.pop()
    response.writeHead(headers.authorization === `Bearer ${token}` ? 200 : 401).end('{"ok":true}')
  }
  const settings = { endpoint: `${receiver.url}?key=query-s3cret`, auth_token: token, timeout: 1000, ...more }
  return {
    kind: kindOf(t),
    settings,
    refusedSettings: { ...settings, auth_token: 'another-s3cret' },
    secrets: [token, 'another-s3cret', 'query-s3cret'],
    timeoutMs: 1000,
    received: async () => receiver.requests.map(({ body }) => receivedFrom(body)),
    stop: () => receiver.stop(),
    start: () => receiver.start(),
    hang: async () => receiver.hang(),
    resume: async () => receiver.resume(),
  }
}

t.test('over HTTP the target keeps the contract', t =>
  notifyTargetContract(t, async t => subjectOf(t, await startReceiver(t))),
)

t.test('over mutual TLS the target keeps the contract', t =>
  notifyTargetContract(t, async t => {
    const { authority, server, client } = makeCertificates(t)
    const receiver = await startReceiver(t, {
      key: readFileSync(server.key),
      cert: readFileSync(server.certificate),
      ca: readFileSync(authority),
      requestCert: true,
      rejectUnauthorized: true,
    })
    return subjectOf(t, receiver, { ca_cert: authority, client_cert: client.certificate, client_key: client.key })
  }),
)

t.test('a message is one POST of its JSON, with the token of the settings', async t => {
  const receiver = await startReceiver(t)
  const message = testMessage({ key: 'ä b' })
  for (const [given, sent] of [
    ['', undefined],
    ['abc', 'Bearer abc'],
    ['Basic dTpw', 'Basic dTpw'],
  ] as const) {
    const target = kindOf(t).connect(settingsOf({ endpoint: receiver.url, auth_token: given }), { id: '_', log })
    await target.send([message], AbortSignal.timeout(90_000))
    const received = receiver.requests.at(-1)!
    t.match(received, { method: 'POST', path: '/hook', headers: { 'content-type': 'application/json' } })
    t.equal(received.headers.authorization, sent)
    t.equal(received.body, message.body.toString())
    await target.close()
  }
})

t.test('some answers are final, others are tried again', async t => {
  const receiver = await startReceiver(t)
  const target = kindOf(t).connect(settingsOf({ endpoint: receiver.url, auth_token: token }), { id: '_', log })
  const expected: Record<string, readonly number[]> = {
    delivered: [200, 201, 202, 204, 299],
    permanent: [400, 410, 413, 415, 422],
    again: [301, 302, 307, 308, 401, 403, 404, 405, 408, 409, 425, 429, 500, 502, 503, 504],
  }
  for (const [verdict, statuses] of Object.entries(expected)) {
    for (const status of statuses) {
      receiver.answer = ({ headers }, response) =>
        response.writeHead(status, { location: `/elsewhere?${token}` }).end(`your header was ${headers.authorization}`)
      const before = receiver.requests.length
      t.equal(await verdictOf(t, target), verdict, String(status))
      t.equal(receiver.requests.length, before + 1, 'one request, whatever the answer')
    }
  }
})

async function verdictOf(t: Test, target: NotifyTarget): Promise<string> {
  try {
    await target.send([testMessage()], AbortSignal.timeout(90_000))
    return 'delivered'
  } catch (error) {
    const { message } = error as Error
    t.notMatch(message, /s3cret/)
    if (/redirect/.test(message) !== / 30\d/.test(message)) t.fail(message)
    return error instanceof PermanentDeliveryError ? 'permanent' : 'again'
  }
}

t.test('invalid settings are refused, with the key and without the value', async t => {
  const kind = kindOf(t)
  const keysOf = (change: Partial<WebhookSettings>) => {
    const problems = kind.validate!(settingsOf({ endpoint: 'https://hook.test/', ...change }), '_')
    for (const { problem } of problems) t.notMatch(problem, /s3cret/)
    return problems.map(({ key }) => key)
  }
  t.same(keysOf({}), [])
  t.same(keysOf({ endpoint: 'http://127.0.0.1:9000/a?b=c', auth_token: 'x y' }), [])
  t.same(keysOf({ endpoint: 'http://10.1.2.3/' }), [], 'private networks are where receivers live')
  for (const endpoint of [
    '',
    'hook.test',
    'ftp://hook.test/',
    'http://user:s3cret@hook.test/',
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://[::ffff:169.254.169.254]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://0.0.0.0/',
    'http://224.0.0.1/',
  ]) {
    t.same(keysOf({ endpoint }), ['endpoint'], endpoint)
  }
  for (const auth_token of ['s3cret\r\nx: y', 's3crét', ' s3cret', 's3cret\0'])
    t.same(keysOf({ auth_token }), ['auth_token'])
  t.same(keysOf({ client_cert: 'relative.pem', client_key: '/k.pem' }), ['client_cert'])
  t.same(keysOf({ client_cert: '/c.pem' }), ['client_key'])
  t.same(keysOf({ client_key: '/k.pem' }), ['client_cert'])
  t.same(keysOf({ ca_cert: '../ca.pem' }), ['ca_cert'])
})

t.test('no connection is made to a name that resolves to a metadata service', async t => {
  const receiver = await startReceiver(t)
  const kind = kindOf(t, { 'hook.test': ['169.254.169.254'], 'fine.test': ['127.0.0.1'] })
  const send = (host: string) =>
    kind
      .connect(settingsOf({ endpoint: `http://${host}:${receiver.port}/`, auth_token: token }), { id: '_', log })
      .send([testMessage()], AbortSignal.timeout(90_000))
  await t.rejects(send('hook.test'), { message: /hook\.test:\d+: its address is a link-local address/ })
  await send('fine.test')
  t.equal(receiver.requests.length, 1)
})
