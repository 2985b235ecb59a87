/**
 * Secrets of every kind are given to a server, in every place where clients and operators put them, some of them wrongly; then each
 * place that tells of requests is searched for them, as they are and as they may be encoded.
 */
import { execFile } from 'node:child_process'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { eventually } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { findBoto3 } from './clients.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'
import { createSignedClient } from './signed-client.ts'
import { askAfterwards, openStream, startReceivers } from './telling-places.ts'

const run = promisify(execFile)
const planted = new Map<string, string>()

/** A secret of this kind; what has no value of ours gets one that is found anywhere. */
function plant(kind: string, value = `planted-${randomBytes(9).toString('hex')}`): string {
  if (value.length < 8) throw new Error(`${kind}: "${value}" could be found by chance`)
  planted.set(kind, value)
  return value
}

plant('password of root', secretKey)
/** Names of parameters that carry credentials. */
const secretNames =
  'apikey api_key api-key x-api-key auth sig jwt session sid token password access_token X-Amz-Security-Token'.split(
    ' ',
  )
const receivers = await startReceivers(t)
const masterKey = plant('master key', randomBytes(32).toString('base64'))
const server = await startServer({
  environment: {
    SVC_LOG_LEVEL: 'debug',
    SVC_KMS_SECRET_KEY: `main:${masterKey}`,
    SVC_SSEC_ALLOW_INSECURE: 'on',
    SVC_WEB_ADDRESS: '127.0.0.1:0',
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: receivers.collector.endpoint,
    SVC_OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${plant('token of the collector')}`,
  },
})
t.teardown(() => server.remove())
const { seen: trace } = await openStream(t, server, '/trace')
const { seen: logs } = await openStream(t, server, '/logs', 'last=1000')
const admin = createAdminClient(server)
const client = createSignedClient(server.port)
t.teardown(() => client.disconnect())
const consoleUrl = `http://${server.startup.console}`

/** Over S3; whatever it answers. */
const ask = async (path: string, init?: RequestInit) => {
  const answer = await fetch(server.endpoint + path, init)
  return { status: answer.status, text: await answer.text() }
}
const askAdmin = async (path: string, init?: RequestInit) => {
  const answer = await fetch(`${consoleUrl}/api/v1${path}`, init)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

t.test('configuration and targets', async t => {
  await admin.call('PATCH', '/config/api', { settings: { signature_v2: 'on' } })
  await admin.call('PATCH', '/config/audit_webhook', {
    settings: { enable: 'on', endpoint: receivers.auditUrl, auth_token: plant('token of the audit target') },
  })
  await admin.call('PATCH', '/config/notify_webhook:hook', {
    settings: { enable: 'on', endpoint: receivers.eventsUrl, auth_token: plant('token of the notify target') },
  })
  const wrong = {
    enable: 'on',
    endpoint: `http://user:${plant('password in a URL')}@127.0.0.1/`,
    auth_token: plant('refused token'),
  }
  await t.rejects(admin.call('PATCH', '/config/notify_webhook:wrong', { settings: wrong }))
})

t.test('users, logins, sessions and access keys', async t => {
  const ada = plant('secret of a user')
  await admin.call('POST', '/users', { accessKey: 'ada', secretKey: ada, policyNames: ['consoleAdmin'] })
  await t.rejects(admin.call('POST', '/users', { accessKey: 'b', secretKey: plant('secret in a refused body'), x: 1 }))
  await t.rejects(admin.call('POST', '/users', { accessKey: 'ben', secretKey: [plant('secret of the wrong type')] }))
  const login = (body: unknown) => askAdmin('/auth/login', json(body))
  t.equal((await login({ accessKey: 'ada', secretKey: plant('wrong password') })).status, 401)
  t.equal((await login(`{"accessKey":"ada","secretKey":"${plant('password in broken JSON')}`)).status, 400)
  const session = await login({ accessKey: 'ada', secretKey: ada })
  t.equal(session.status, 200)
  const cookie = session.headers.get('set-cookie')!.split(';')[0]!
  plant('cookie of a session', cookie.split('=')[1])
  const csrf = plant('CSRF token', JSON.parse(session.text).csrfToken)
  t.equal((await askAdmin('/info', { headers: { cookie } })).status, 200)
  const made = await askAdmin('/access-keys', json({}, { cookie, origin: consoleUrl, 'x-csrf-token': csrf }))
  t.equal(made.status, 201)
  plant('secret of an access key', JSON.parse(made.text).secretKey)
  const wrongCsrf = { cookie, origin: consoleUrl, 'x-csrf-token': plant('wrong CSRF token') }
  t.equal((await askAdmin('/access-keys', json({}, wrongCsrf))).status, 403)
  await askAdmin('/info', { headers: { cookie: `svc_session=${plant('wrong cookie')}` } })
})

t.test('S3: headers, bodies, keys of customers, parameters', async t => {
  t.equal((await client.send({ method: 'PUT', path: '/photos' })).status, 200)
  const { items: targets } = await admin.call('GET', '/notify/targets')
  const [{ arn }] = targets
  const subscriptions = [{ id: 'all', arn, events: ['s3:ObjectCreated:*'] }]
  await admin.call('PUT', '/buckets/photos/events', { subscriptions })
  // Nobody is there: attempts fail, and are told. The first event may still reach the former endpoint, with its metadata.
  const gone = { endpoint: 'http://127.0.0.1:9/', auth_token: plant('token of a notify target that is away') }
  await admin.call('PATCH', '/config/notify_webhook:hook', { settings: gone })
  const headers = { 'x-amz-meta-password': plant('metadata'), cookie: `session=${plant('cookie of S3')}` }
  const body = plant('body of an object')
  t.equal((await client.send({ method: 'PUT', path: '/photos/visible-object', headers, body })).status, 200)
  const key = randomBytes(32)
  const customer = {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': plant('key of a customer', key.toString('base64')),
    'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(key).digest('base64'),
  }
  t.equal((await client.send({ method: 'PUT', path: '/photos/sealed', headers: customer, body: 'x' })).status, 200)
  const wrong = { ...customer, 'x-amz-server-side-encryption-customer-key-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }
  t.equal((await client.send({ method: 'PUT', path: '/photos/sealed', headers: wrong, body: 'x' })).status, 400)
  for (const authorization of ['Bearer', 'Basic', 'AWS ada:', 'AWS4-HMAC-SHA256 Credential=ada, Signature=']) {
    await ask('/photos/visible-object', { headers: { authorization: `${authorization} ${plant(authorization)}` } })
  }
  await ask('/photos/visible-object', { headers: { 'x-api-key': plant('header of an API key') } })
  for (const name of secretNames) {
    await ask(`/photos/visible-object?${name}=${plant(`parameter ${name}`)}`)
    await askAdmin(`/info?${name}=${plant(`parameter ${name} of the Admin API`)}`)
  }
  await ask(`/photos/visible-object?%61pi%4Bey=${plant('encoded parameter')}`)
})

t.test('webhooks of caches in front', async t => {
  await admin.call('POST', '/distributions', { id: 'site', aliases: ['www.site.test'], origin: { bucket: 'photos' } })
  const webhook = { id: 'edge', type: 'generic', url: 'https://192.0.2.1/', clientSecret: plant('secret of a webhook') }
  const set = (body: object) => admin.call('PUT', '/distributions/site/cache/settings', body)
  await t.rejects(set({ webhooks: [{ ...webhook, token: plant('token of a refused webhook') }] }), /must not be/)
  await set({ webhooks: [{ ...webhook, url: 'https://127.0.0.1.invalid/', token: plant('token of a webhook') }] })
  // Nobody is there: the attempt fails, and is told.
  await admin.call('POST', '/distributions/site/cache/webhooks/edge/test')
})

t.test('websites: parameters, cookies, headers, signed addresses, the secret of a proxy in front', async t => {
  await admin.call('POST', '/keygroups', { id: 'viewers' })
  const { privateKey } = await admin.call('POST', '/keygroups/viewers/keys', { generate: true })
  plant('private key of a key group', privateKey.split('\n')[1])
  const { etag: _, ...document } = await admin.call('GET', '/distributions/site')
  const signed = { pathPattern: { type: 'prefix', pattern: '/signed/' }, access: 'signed' }
  const changed = {
    ...document,
    defaultBehavior: { access: 'public', signing: { keyGroup: 'viewers' } },
    behaviors: [signed],
  }
  await admin.call('PUT', '/distributions/site', changed)
  const site = createSignedClient(Number(String(server.startup.web).split(':').at(-1)))
  t.teardown(() => site.disconnect())
  const visit = (path: string, query = '', headers: Record<string, string> = {}) =>
    site.send({ method: 'GET', path, query, signer: null, headers: { host: 'www.site.test', ...headers } })
  t.equal((await visit('/visible-object')).status, 200)
  for (const name of secretNames) {
    t.equal((await visit('/visible-object', `${name}=${plant(`parameter ${name} of a website`)}`)).status, 200)
  }
  const cookie = `CloudFront-Signature=${plant('signature in a cookie')}; sid=${plant('cookie of a website')}`
  const authorization = `Bearer ${plant('token for a website')}`
  for (const path of ['/visible-object', '/signed/none']) await visit(path, '', { cookie, authorization })
  const link = await admin.call('POST', '/distributions/site/sign', { path: '/signed/a', expiresInSeconds: 60 })
  const { host, pathname, searchParams, search } = new URL(link.url)
  plant('signature of a website', searchParams.get('Signature')!)
  t.equal((await visit(pathname, search.slice(1), { host })).status, 404, 'the signature is good, and nothing is there')
  t.equal((await visit(pathname, `${search.slice(1)}x`, { host })).status, 403)
  const name = 'x-proxy-secret'
  const first = plant('secret of a proxy in front')
  await admin.call('PUT', '/distributions/site', {
    ...changed,
    restrictions: { originSecretHeader: { name, value: first } },
  })
  const { value } = await admin.call('POST', '/distributions/site/origin-secret/rotate')
  plant('next secret of a proxy in front', value)
  for (const good of [first, value]) t.equal((await visit('/visible-object', '', { [name]: good })).status, 200)
  t.equal((await visit('/visible-object', '', { [name]: plant('wrong secret of a proxy') })).status, 403)
})

t.test('signatures, links and forms', async t => {
  const { headers } = await import('svc/plugins/auth-sigv4/api').then(({ signRequest }) =>
    signRequest(
      { accessKey, secret: secretKey, region },
      { method: 'GET', host: `127.0.0.1:${server.port}`, path: '/photos', headers: {}, nowMs: Date.now() },
    ),
  )
  plant('signature of a header', /Signature=(\w+)/.exec(headers.authorization!)![1])
  t.equal((await ask('/photos', { headers })).status, 200)
  const linked = [
    await admin.call('POST', '/presign', {
      method: 'GET',
      bucket: 'photos',
      key: 'visible-object',
      expiresInSeconds: 60,
    }),
    await admin.call('POST', '/buckets/photos/objects/share', { key: 'visible-object', expiresInSeconds: 60 }),
  ]
  for (const [index, { url }] of linked.entries()) {
    plant(`signature of link ${index}`, new URL(url).searchParams.get('X-Amz-Signature')!)
    t.equal((await fetch(url)).status, 200)
    t.equal((await fetch(`${url}&more=1`)).status, 403)
  }
  const expires = Math.floor(Date.now() / 1000) + 60
  const toSign = `GET\n\n\n${expires}\n/photos/visible-object`
  const v2 = plant('signature of version 2', createHmac('sha1', plant('secret of V2')).update(toSign).digest('base64'))
  const query = `AWSAccessKeyId=ada&Expires=${expires}&Signature=${encodeURIComponent(v2)}`
  t.equal((await ask(`/photos/visible-object?${query}`)).status, 403)

  const form = await admin.call('POST', '/post-policy', { bucket: 'photos', key: 'by-form', expiresInSeconds: 60 })
  const fields = new FormData()
  for (const [name, value] of Object.entries<string>(form.fields)) fields.set(name, value)
  plant('signature of a form', form.fields['x-amz-signature'])
  plant('policy of a form', form.fields.policy)
  fields.set('file', new Blob(['x']))
  t.ok((await fetch(form.url, { method: 'POST', body: fields })).status < 300)
})

const [boto3] = findBoto3().values()
t.test('temporary credentials', { skip: boto3 === undefined && 'boto3 is not installed' }, async t => {
  const python = `import os, json, boto3
from botocore.config import Config
make = lambda kind, **more: boto3.client(kind, endpoint_url=os.environ['ENDPOINT'], region_name='${region}', config=Config(s3={'addressing_style': 'path'}), **more)
c = make('sts', aws_access_key_id='ada', aws_secret_access_key=os.environ['SECRET']).assume_role(RoleArn='arn:aws:iam::000000000000:role/any', RoleSessionName='build')['Credentials']
s3 = make('s3', aws_access_key_id=c['AccessKeyId'], aws_secret_access_key=c['SecretAccessKey'], aws_session_token=c['SessionToken'])
s3.head_object(Bucket='photos', Key='visible-object')
print(json.dumps({'secret': c['SecretAccessKey'], 'token': c['SessionToken'], 'link': s3.generate_presigned_url('get_object', Params={'Bucket': 'photos', 'Key': 'visible-object'})}))`
  const env = { ...process.env, ENDPOINT: server.endpoint, SECRET: planted.get('secret of a user')! }
  const { stdout } = await run(boto3!, ['-c', python], { env })
  const temporary = JSON.parse(stdout)
  plant('secret of temporary credentials', temporary.secret)
  plant('session token', temporary.token)
  t.equal((await fetch(temporary.link)).status, 200)
})

t.test('tokens of scrapes', async t => {
  const { token } = await admin.call('POST', '/metrics/prometheus-token', {})
  plant('token of a scrape', token)
  const scrape = (bearer: string) => ask('/svc/metrics/v1/node', { headers: { authorization: `Bearer ${bearer}` } })
  t.equal((await scrape(token)).status, 200)
  t.equal((await scrape(plant('wrong token of a scrape', `${token.slice(0, -8)}planted1`))).status, 403)
})

t.test('none of the secrets appears in any output', async t => {
  const asked = await askAfterwards(server)
  // What was told last is still on its way to streams and targets.
  await ask('/photos/last-object')
  const arriving = { trace, logs, 'the audit target': receivers.audited }
  const without = () =>
    Object.keys(arriving).filter(name => !arriving[name as keyof typeof arriving]().includes('last-object'))
  await eventually(without, names => names.length === 0)
  t.equal(await server.stop(), 0)
  const places: Record<string, string> = {
    ...asked,
    trace: trace(),
    logs: logs(),
    'audit target': receivers.audited(),
    spans: receivers.collector.bytes(),
    'log on standard error': server.log(),
  }
  for (const name of ['trace', 'logs', 'audit target', 'spans', 'log on standard error', 'audit search']) {
    t.ok(places[name]!.includes('visible-object'), `${name} tells of the requests`)
  }
  t.match(places['report of a bug'], /notify_webhook:hook/)
  t.match(server.log(), /127\.0\.0\.1:9 /, 'failures of the notify target are told')
  t.match(places.metrics, /svc_s3_requests_total/)
  const kinds = new Set(receivers.collector.spans.map(({ name }) => name.split(' ', 1)[0]))
  t.same(kinds, new Set(['s3', 'admin', 'web']), 'spans of each kind of request')
  t.ok(planted.size > 50, `${planted.size} secrets`)
  for (const [place, text] of Object.entries(places)) {
    const found = [...planted].filter(([, secret]) => formsOf(secret).some(form => text.includes(form)))
    t.same(
      found.map(([kind]) => kind),
      [],
      place,
    )
  }
})

/** As text may have it. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, '').slice(0, -1),
    bytes.toString('base64url').slice(0, -1),
  ]
}
