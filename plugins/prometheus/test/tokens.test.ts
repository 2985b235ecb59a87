/** Scrape tokens of identities with rights of their own. */
import { startAdmin } from 'svc/plugins/admin/testing'
import t, { type Test } from 'tap'

const path = '/api/v1/metrics/prometheus-token'
const secret = 'a-secret-of-a-user'

async function start(t: Test, authType = 'jwt') {
  const server = await startAdmin({ config: { prometheus: { authType } } })
  t.teardown(() => server.stop())
  const call = async (method: string, path: string, body?: object) => {
    const answer = await server.signed({ method, path: `/api/v1${path}`, body })
    t.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }
  const scrape = async (token: string, scope = 'node') => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`http://127.0.0.1:${server.s3Port}/svc/metrics/v1/${scope}`, { headers })
    await answer.text()
    return answer.status
  }
  return { ...server, call, scrape }
}

t.test('a user with admin:Prometheus scrapes, for as long as they have it', async t => {
  const { call, scrape, signedBy } = await start(t)
  await call('POST', '/users', { accessKey: 'watcher', secretKey: secret, policyNames: ['diagnostics'] })
  await call('POST', '/users', { accessKey: 'reader', secretKey: secret, policyNames: ['readonly'] })
  const refused = await signedBy('reader', secret)({ method: 'POST', path, body: {} })
  t.match(refused, { status: 403, json: { code: 'access_denied' } })

  const made = await signedBy('watcher', secret)({ method: 'POST', path, body: { expiresInSeconds: 60 } })
  t.equal(made.status, 201)
  const { token, expiresAt } = made.json
  t.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 60_000) < 30_000)
  for (const scope of ['node', 'cluster', 'bucket']) t.equal(await scrape(token, scope), 200, scope)

  await call('POST', '/policies/detach', { policyNames: ['diagnostics'], user: 'watcher' })
  t.equal(await scrape(token), 403, 'without the right')
  await call('POST', '/policies/attach', { policyNames: ['diagnostics'], user: 'watcher' })
  t.equal(await scrape(token), 200)
  await call('PATCH', '/users/watcher', { status: 'disabled' })
  t.equal(await scrape(token), 403, 'disabled')
  await call('PATCH', '/users/watcher', { status: 'enabled' })
  t.equal(await scrape(token), 200)
  await call('PUT', '/users/watcher/secret-key', { secretKey: `${secret}-2` })
  t.equal(await scrape(token), 403, 'with another secret key')
})

t.test('conditions of policies and what limits an access key hold for scrapes', async t => {
  const { call, scrape, signedBy } = await start(t)
  const allow = (Condition?: object) => ({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 'admin:Prometheus', ...(Condition === undefined ? {} : { Condition }) }],
  })
  const agent = { StringEquals: { 'aws:UserAgent': 'prometheus' } }
  await call('PUT', '/policies/agents', { document: allow(agent) })
  await call('POST', '/users', { accessKey: 'watcher', secretKey: secret, policyNames: ['agents'] })
  const made = await signedBy('watcher', secret)({ method: 'POST', path, headers: { 'user-agent': 'prometheus' } })
  t.equal(made.status, 201)
  t.equal(await scrape(made.json.token), 403, 'with the user agent of this test')

  const narrow = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: 'arn:aws:s3:::*' }] }
  const key = await call('POST', '/access-keys', { policy: narrow })
  const refused = await signedBy(key.accessKey, key.secretKey)({ method: 'POST', path, body: {} })
  t.equal(refused.status, 403, 'a key of root that may not')
  const free = await call('POST', '/access-keys', { policy: allow() })
  const own = await signedBy(free.accessKey, free.secretKey)({ method: 'POST', path, body: {} })
  t.equal(own.status, 201)
  t.equal(await scrape(own.json.token), 200)
  await call('DELETE', `/access-keys/${free.accessKey}`)
  t.equal(await scrape(own.json.token), 403, 'the key is gone')
})

t.test('the scrape configuration names the endpoints that were asked for', async t => {
  const { call, s3Port } = await start(t)
  const made = await call('POST', '/metrics/prometheus-token', { targets: ['bucket', 'cluster', 'node'] })
  t.match(made.scrapeConfig, `targets: ['127.0.0.1:${s3Port}']`)
  t.same(
    [...made.scrapeConfig.matchAll(/metrics_path: (\S+)/g)].map(([, found]: string[]) => found),
    ['node', 'cluster', 'bucket'].map(scope => `/svc/metrics/v1/${scope}`),
  )
  t.match(made.scrapeConfig, made.token)
  const answer = await (await start(t, 'public')).call('POST', '/metrics/prometheus-token')
  t.equal(answer.token, '')
  t.notMatch(answer.scrapeConfig, /credentials/)
})
