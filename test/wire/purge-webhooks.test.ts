/**
 * A cache in front of a real server, set up as docs/operate/purges.md says, by svcctl: it is told of what aws-cli overwrites and of what svcctl
 * purges. Its secret is nowhere to be read, and inside networks are reached only where the setting allows it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { findLastingPort } from 'svc/testing'
import t, { type Test } from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { accessKey, secretKey, startServer, type TestServer } from './server.ts'

t.setTimeout(300_000)
const { path: aws, skip } = requireProgram('aws')
const token = 'tok3n-of-the-proxy'
const alias = 'www.example.test'
const refusing = { SVC_CONSOLE_ADDRESS: `127.0.0.1:${await findLastingPort()}` }
const allowing = { ...refusing, SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8' }

const guide = readFileSync(resolve(import.meta.dirname, '../../docs/operate/purges.md'), 'utf8')
const documents = [...guide.matchAll(/cat > cache\.json <<'END'\n([\s\S]*?)\nEND\n/g)].map(([, text]) =>
  JSON.parse(text!),
)
/** Of a proxy, as the guide has it. */
const documented = documents.flatMap(({ webhooks }) => webhooks).find(({ id }) => id === 'proxy')

/** Takes `PURGE` with the token. */
async function startProxy(t: Test) {
  const purged: string[] = []
  let isAway = false
  const proxy = createServer(({ method, url, headers }, response) => {
    const isRight = method === 'PURGE' && headers.authorization === `Bearer ${token}`
    response.writeHead(isAway ? 503 : isRight ? 200 : 403).end()
    if (isRight && !isAway) purged.push(`${headers.host}${url}`)
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const { port } = proxy.address() as AddressInfo
  return {
    webhook: {
      ...documented,
      url: documented.url.replace('10.0.0.7', `127.0.0.1:${port}`),
      token,
    },
    purged,
    leave: (away: boolean) => {
      isAway = away
    },
  }
}

async function eventually(isRight: () => unknown, facts: () => unknown): Promise<void> {
  const deadlineMs = Date.now() + 60_000
  while (!(await isRight())) {
    if (Date.now() > deadlineMs) throw new Error(JSON.stringify(await facts()))
    await new Promise(done => setTimeout(done, 50))
  }
}

/** The two clients of an operator, and a published bucket with one page. */
async function publish(t: Test, server: TestServer) {
  const environment = { SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'), SVCCTL_SECRET_KEY: secretKey }
  const runCtl = (...args: string[]) => run(process.execPath, [svcctlProgram, ...args], server, { environment })
  const ctl = async (...args: string[]) => {
    const outcome = await runCtl(...args)
    t.equal(outcome.code, 0, `svcctl ${args.join(' ')}`, { stderr: outcome.stderr })
    return outcome.stdout
  }
  const write = async (key: string, text: string) => {
    const file = join(server.folder, 'page')
    writeFileSync(file, text)
    const args = ['--endpoint-url', server.endpoint, 's3', 'cp', '--no-progress', file, `s3://pages/${key}`]
    t.match(await run(aws, args, server), { code: 0 }, `aws s3 cp ${key}`)
  }
  const file = join(server.folder, 'cache.json')
  const set = (document: object, ...options: string[]) => {
    writeFileSync(file, JSON.stringify(document))
    return runCtl('cache', 'dist', 'set', 'home', 'site', file, ...options)
  }
  const console = `http://${server.startup.console}`
  await ctl('--admin-url', console, 'alias', 'set', 'home', server.endpoint, accessKey)
  await ctl('mb', 'home/pages')
  await write('docs/index.html', 'old')
  await createAdminClient(server).call('POST', '/distributions', {
    id: 'site',
    aliases: [alias],
    origin: { bucket: 'pages' },
    defaultBehavior: { indexDocument: 'index.html' },
  })
  return { ctl, runCtl, write, set }
}

t.test('a proxy is told of writes and of purges, and its token is never told', { skip }, async t => {
  const proxy = await startProxy(t)
  const server = await startServer({ environment: allowing })
  t.teardown(() => server.remove())
  const { ctl, runCtl, write, set } = await publish(t, server)
  const read = async () => JSON.parse(await ctl('--json', 'cache', 'dist', 'get', 'home', 'site'))
  const status = async () =>
    (await createAdminClient(server).call('GET', '/distributions/site/cache/webhooks')).items[0]
  const arrives = (url: string) => eventually(() => proxy.purged.includes(url), status)
  const none = await read()
  t.same(none.webhooks, [])
  for (const document of documents.slice(0, -1))
    t.match(await set(document), { code: 0 }, 'the guide’s document is taken')
  t.match(await set({ webhooks: [proxy.webhook] }), { code: 0 })
  const stored = await read()
  t.match(stored.webhooks, [{ ...proxy.webhook, token: '*REDACTED*' }])
  t.not(stored.etag, none.etag)
  t.match(await ctl('cache', 'webhooks', 'test', 'home', 'site', 'proxy'), /delivered: +yes/)
  t.same(proxy.purged.splice(0), [`${alias}/`])

  await t.test('a level that names nobody, and names of nobody', async t => {
    const silent = { webhooks: [{ ...proxy.webhook }], domains: [{ host: alias, cache: { purgeWebhooks: [] } }] }
    t.match(await set(silent), { code: 0 })
    await write('silent.html', 'told to nobody')
    t.match(await set({ webhooks: silent.webhooks, cache: { purgeWebhooks: ['proxi'] } }), {
      code: 1,
      stderr: /\/cache\/purgeWebhooks\/0.*"proxi", the id of no webhook/,
    })
    await eventually(async () => (await status()).queued === 0, status)
    t.same(proxy.purged, [])
    const url = `https://${alias}/silent.html`
    const inspected = JSON.parse(await ctl('--json', 'cache', 'inspect', 'home', url))
    t.match(inspected.policy, { purgeWebhooks: [], fields: { purgeWebhooks: 'domain' } })
    t.match(await set({ webhooks: silent.webhooks }), { code: 0 })
  })

  await t.test('overwritten, copied and deleted objects', async t => {
    await write('docs/index.html', 'new')
    for (const path of ['/docs/index.html', '/docs/', '/docs']) await arrives(alias + path)
    const at = ['--endpoint-url', server.endpoint, 's3']
    await run(aws, [...at, 'cp', 's3://pages/docs/index.html', 's3://pages/copy.html'], server)
    await arrives(`${alias}/copy.html`)
    proxy.purged.length = 0
    await run(aws, [...at, 'rm', 's3://pages/copy.html'], server)
    await arrives(`${alias}/copy.html`)
    t.same(new Set(proxy.purged), new Set([`${alias}/copy.html`]), 'and nothing else')
  })

  await t.test('purges that somebody requests', async t => {
    await ctl('cache', 'purge', 'home/site', '--path', '/a b.html', '--prefix', '/img/', '--wait')
    await arrives(`${alias}/a%20b.html`)
    // As statistics and access logs have it.
    await ctl('cache', 'purge', 'home/site', '--path', '/%C3%BC%20x.html?y=1', '--path', '/100%25%20a.html', '--wait')
    await arrives(`${alias}/%C3%BC%20x.html`)
    await arrives(`${alias}/100%25%20a.html`)
    await arrives(`${alias}/img/*`)
    t.match(await runCtl('cache', 'purge', 'home', '--all'), { code: 0 })
    await arrives(`${alias}/*`)
  })

  await t.test('the document that was read is taken back; nothing changes, and the token stays', async t => {
    t.match(await set(stored), { code: 0 })
    t.equal((await read()).etag, stored.etag)
    await write('kept.html', 'x')
    await arrives(`${alias}/kept.html`)
    t.match(await set({ ...stored, webhooks: [{ ...proxy.webhook, token: 'another-token' }] }), { code: 0 })
    const changed = await read()
    t.not(changed.etag, stored.etag, 'a secret alone is a change')
    const late = await set({ ...stored, webhooks: [] }, '--if-match', stored.etag)
    t.match(late, { code: 5, stderr: /precondition_failed/ }, 'by the ETag of before')
    t.match(await set({ ...changed, webhooks: [proxy.webhook] }), { code: 0 })
  })

  await t.test('what is wrong is named, and nothing is stored of it', async t => {
    const before = await read()
    const refused = async (webhook: object, said: RegExp) => {
      const { code, stderr } = await set({ webhooks: [{ ...proxy.webhook, ...webhook }] })
      t.equal(code, 1)
      t.match(stderr, said)
      t.notMatch(stderr, token)
    }
    await refused({ type: 'carrier-pigeon' }, /\/webhooks\/0\/type must be a kind of webhook: cdn_1, .*generic/)
    await refused({ color: 'red' }, /\/webhooks\/0\/color is no field of generic/)
    await refused({ domains: ['other.example.test'] }, /\/webhooks\/0\/domains has "other.example.test"/)
    await refused({ url: 'http://8.8.8.8/' }, /\/webhooks\/0\/url must begin with https/)
    await refused({ url: 'https://169.254.169.254/' }, /\/webhooks\/0\/url/)
    const moved = { ...proxy.webhook, url: 'http://127.0.0.2/', token: '*REDACTED*' }
    await refused(moved, /\/webhooks\/0\/token must be given again, because url changes/)
    t.same(await read(), before)
  })

  await t.test('what a proxy that is away has missed waits, is counted, and survives a restart', async t => {
    proxy.leave(true)
    await write('missed.html', 'x')
    const queued = async () => JSON.parse(await ctl('--json', 'cache', 'stats', 'home')).nodes[0].webhookQueue
    await eventually(async () => (await status()).lastError !== '', status)
    t.equal(await queued(), 1)
    t.equal(await server.stop(), 0)
    await server.start()
    t.equal(await queued(), 1)
    proxy.leave(false)
    await arrives(`${alias}/missed.html`)
    await eventually(async () => (await queued()) === 0, status)
  })

  await t.test('without the setting it is not reached any more, and not taken', async t => {
    await server.stop()
    await server.start(refusing)
    proxy.purged.length = 0
    t.match(await set({ webhooks: [proxy.webhook] }), {
      code: 1,
      stderr: /\/webhooks\/0\/url must not be a loopback address/,
    })
    await write('secret.html', 'x')
    await eventually(async () => /https:\/\//.test((await status()).lastError), status)
    t.same(proxy.purged, [])
  })

  await t.test('webhooks are removed', async t => {
    t.match(await set({ webhooks: [] }), { code: 0 })
    t.same((await read()).webhooks, [])
    t.equal(await status(), undefined)
  })
  t.notMatch(server.log(), token)
  t.notMatch(readFileSync(join(server.folder, 'cache.json'), 'utf8'), token)
})

t.test('an alias that somebody else sets gets no token', { skip }, async t => {
  const proxy = await startProxy(t)
  const stranger = 'stranger.example.org'
  const names = {
    NODE_OPTIONS: `--import=${new URL('loopback-names.mjs', import.meta.url)}`,
    TEST_LOOPBACK_NAMES: `${alias},${stranger}`,
  }
  const server = await startServer({ environment: { ...allowing, ...names } })
  t.teardown(() => server.remove())
  const { ctl, runCtl, write, set } = await publish(t, server)
  const admin = createAdminClient(server)
  const { aliases: _, ...site } = await admin.call('GET', '/distributions/site')
  /** Of somebody who may change distributions, and neither see nor change webhooks. */
  const replaceAliases = (...aliases: string[]) => admin.call('PUT', '/distributions/site', { ...site, aliases })
  const status = async () => (await admin.call('GET', '/distributions/site/cache/webhooks')).items[0]
  const { port } = new URL(proxy.webhook.url.replace('{path}', ''))
  const webhook = {
    ...{ id: 'proxy', type: 'generic', method: 'PURGE', url: `http://{host}:${port}{path}`, token },
    headers: { Authorization: 'Bearer {token}' },
  }
  const test = (...options: string[]) => runCtl('cache', 'webhooks', 'test', 'home', 'site', 'proxy', ...options)

  t.match(await set({ webhooks: [webhook] }), {
    code: 1,
    stderr: /\/webhooks\/0\/domains must name the hosts that the secrets may be sent to/,
  })
  await replaceAliases(stranger)
  await test()
  t.same(proxy.purged, [], 'without domains nothing is set, and nothing sent')

  await replaceAliases(alias)
  t.match(await set({ webhooks: [{ ...webhook, domains: [alias] }] }), { code: 0 })
  await replaceAliases(stranger)
  await write('taken.html', 'x')
  await eventually(() => proxy.purged.includes(`${alias}:${port}/taken.html`), status)
  t.match(await test('--url', `http://${stranger}/`), { code: 1, stderr: /--url must be at a domain of the webhook/ })
  await ctl('cache', 'purge', 'home/site', '--path', `http://${stranger}/a.html`, '--path', '/b.html')
  await eventually(() => proxy.purged.includes(`${alias}:${port}/b.html`), status)
  const others = () => proxy.purged.filter(url => !url.startsWith(`${alias}:`))
  t.same(others(), [], 'the domains of the webhook count, and no other alias')

  await replaceAliases(alias, stranger)
  t.match(await set({ webhooks: [{ ...webhook, token: '*REDACTED*', domains: [stranger] }] }), {
    code: 1,
    stderr: /\/webhooks\/0\/token must be given again, because domains changes/,
  })
  t.match(await set({ webhooks: [{ ...webhook, domains: [stranger] }] }), { code: 0 })
  await ctl('cache', 'purge', 'home/site', '--path', '/c.html')
  await eventually(() => others().includes(`${stranger}:${port}/c.html`), status)
  t.notMatch(server.log(), token)
})
