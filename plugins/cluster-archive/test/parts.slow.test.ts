/** Documents that belong to no bucket, out of one deployment and into another one: distributions and everything that they need. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootPassword, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import t from 'tap'
import { readZip } from '../zip-file.ts'
import { download, upload } from './archives.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-parts-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const authority = createTestAuthority(folder)
const shopCertificate = authority.issue(['shop.test'])

/** Each of them is somewhere in what `fill` sets up. */
const secrets = {
  tsig: 'dHNpZy1zZWNyZXQtb2YtdGhlLW1haW4tcHJvdmlkZXI=',
  debug: 'debug-secret-of-the-cache',
  webhook: 'token-of-the-webhook',
  path: 'secret-path-of-the-webhook',
  header: 'secret-header-of-the-webhook',
  origin: 'origin-secret-in-clear',
} as const

const callOf =
  ({ signed }: TestAdmin) =>
  async (method: string, path: string, body?: object) => {
    const { status, text, json } = await signed({ method, path: `/api/v1${path}`, body })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return json
  }

async function fill(server: TestAdmin): Promise<{ readonly privateKey: string }> {
  const call = callOf(server)
  await call('POST', '/buckets', { name: 'pages' })
  await call('POST', '/buckets', { name: 'logs' })
  await call('POST', '/dns-providers', {
    name: 'main',
    comment: 'ours',
    type: 'rfc2136',
    rfc2136: { nameserver: '127.0.0.1:9', tsigKeyName: 'svc-key' },
    credentials: { tsigSecret: secrets.tsig },
  })
  await call('POST', '/keygroups', { id: 'viewers', comment: 'who paid' })
  const { privateKey } = await call('POST', '/keygroups/viewers/keys', { generate: true, name: 'first' })
  await call('POST', '/certificates', {
    id: 'shop',
    certificate: shopCertificate.chain,
    privateKey: shopCertificate.key,
  })
  await call('POST', '/cache/policies', { name: 'long', ttl: { default: '1h', min: '1m', max: '1d' } })
  await call('PUT', '/cache/settings', {
    cache: { policy: 'long' },
    nodeHeader: true,
    debug: { header: 'X-Debug', secret: secrets.debug },
  })
  await call('POST', '/distributions', {
    id: 'site',
    comment: 'the site',
    aliases: ['www.site.test', 'site.test'],
    origin: { bucket: 'pages' },
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/paid/' }, access: 'signed', signing: { keyGroup: 'viewers' } },
    ],
    restrictions: { originSecretHeader: { name: 'X-Origin', value: secrets.origin } },
    logging: { accessLog: true, format: 'json', target: 'bucket:logs/site/' },
  })
  await call('POST', '/distributions', {
    id: 'shop',
    aliases: ['shop.test'],
    origin: { bucket: 'pages', pathPrefix: 'shop/' },
    tls: { certificate: 'shop' },
  })
  await call('PUT', '/distributions/site/cache/settings', {
    distribution: 'site',
    cache: { ttl: { default: '5m', min: '1m', max: '1h' } },
    domains: [{ host: 'site.test', cache: { enabled: false } }],
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/paid/' }, cache: { policy: 'long' } }],
    webhooks: [
      {
        id: 'edge',
        type: 'generic',
        domains: ['site.test'],
        url: `http://127.0.0.1:9/purge/${secrets.path}`,
        headers: { authorization: 'Bearer {token}', 'x-key': secrets.header },
        token: secrets.webhook,
      },
    ],
  })
  return { privateKey }
}

const start = () => startAdmin({ config: { purge: { webhookAllow: ['127.0.0.0/8'] } } })
const source = await start()
t.teardown(source.stop)
const target = await start()
t.teardown(target.stop)
const { privateKey } = await fill(source)
const archive = await download(source)

const documentsIn = async (bytes: Buffer) => {
  const files = [...(await readZip(bytes))].filter(([name]) => name.startsWith('documents/'))
  return Object.fromEntries(files.map(([name, text]) => [name.slice(10, -5), JSON.parse(text.toString())]))
}

t.test('the archive has one file for each part, with sealed secrets and without private keys', async t => {
  const documents = await documentsIn(archive)
  t.same(
    Object.fromEntries(Object.entries(documents).map(([name, all]) => [name, Object.keys(all as object).sort()])),
    {
      'cache-policy': ['long'],
      'cache-settings': ['cluster'],
      distribution: ['shop', 'site'],
      'distribution-cache': ['site'],
      'dns-provider': ['main'],
      'key-group': ['viewers'],
      'purge-webhooks': ['site'],
    },
  )
  t.match(documents['dns-provider'].main.credentials, { tsigSecret: { sealed: String } })
  t.match(documents['cache-settings'].cluster.debug, { secret: { sealed: String } })
  t.match(documents['purge-webhooks'].site.webhooks[0], {
    settings: { url: { sealed: String }, headers: { sealed: String } },
    secrets: { token: { sealed: String } },
  })
  const all = Buffer.concat([...(await readZip(archive)).values()]).toString('latin1')
  for (const secret of [...Object.values(secrets), rootPassword]) t.notOk(all.includes(secret), secret)
  for (const key of [privateKey, shopCertificate.key]) {
    const [, line] = key.split('\n')
    t.notOk(all.includes(line!), 'no private key')
  }
  t.notOk(all.includes('PRIVATE KEY'))
})

t.test('a distribution whose certificate cannot be in the archive is refused with what to do', async t => {
  const { status, json } = await upload(target, archive, 'dryRun=true')
  t.match(
    { status, code: json.code, detail: json.detail },
    {
      status: 400,
      code: 'invalid_archive',
      detail: /distribution\.json\/shop\/tls\/certificate: .*upload it here under this id/,
    },
  )
  await callOf(target)('POST', '/certificates', {
    id: 'shop',
    certificate: shopCertificate.chain,
    privateKey: shopCertificate.key,
  })
})

const places = [
  'cache-policy/long',
  'cache-settings/cluster',
  'distribution-cache/site',
  'distribution/shop',
  'distribution/site',
  'dns-provider/main',
  'key-group/viewers',
  'purge-webhooks/site',
]

t.test('a dry run names and counts them, and makes none', async t => {
  const { status, json } = await upload(target, archive, 'dryRun=true')
  t.equal(status, 200, JSON.stringify(json))
  t.same(json.documents, {
    'cache-policy': 1,
    'cache-settings': 1,
    distribution: 2,
    'distribution-cache': 1,
    'dns-provider': 1,
    'key-group': 1,
    'purge-webhooks': 1,
  })
  t.same(json.created.filter((place: string) => places.includes(place)).sort(), places)
  t.same(json.changed, [])
  t.same((await callOf(target)('GET', '/distributions')).items, [])
})

/** What does not have to be the same: times, and what depends on them. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const own = Object.entries(value).filter(
    ([name]) => !['createdAt', 'updatedAt', 'etag', 'hasPrivateKey'].includes(name),
  )
  return Object.fromEntries(own.map(([name, inner]) => [name, comparable(inner)]))
}

t.test('a round trip between two deployments', async t => {
  t.equal((await upload(target, archive)).status, 200)
  const paths = [
    '/distributions',
    '/distributions/site/cache/settings',
    '/distributions/site/cache/webhooks',
    '/cache/policies',
    '/cache/settings',
    '/dns-providers',
    '/keygroups',
  ]
  for (const path of paths) {
    const [one, other] = await Promise.all([source, target].map(async server => callOf(server)('GET', path)))
    t.same(comparable(other), comparable(one), path)
  }
  const documents = async (server: TestAdmin) => {
    const read = server.kernel.point('archive.part').list()
    return Promise.all(read.map(async ({ id, value }) => [id, [...(await value.read())]]))
  }
  t.same(await documents(target), await documents(source), 'secrets, too')
  t.match(
    (await upload(target, archive)).json,
    { created: [], changed: [], removed: [] },
    'a second time nothing is different',
  )
})

t.test('what was imported is in force: the host is routed, and its signed paths want a signature', async t => {
  const route = await callOf(target)('GET', '/routing/resolve?host=www.site.test&listener=web')
  t.match(route, { distribution: 'site' })
  const test = await callOf(target)('POST', '/distributions/site/test', {
    url: 'http://site.test/paid/a',
    headers: { 'X-Origin': secrets.origin },
  })
  t.match(test, { restriction: { allowed: true }, status: 403 })
})

t.test('merge keeps own documents and private keys, replace removes the others', async t => {
  const call = callOf(target)
  const group = await call('GET', '/keygroups/viewers')
  t.match(group.keys, [{ name: 'first', hasPrivateKey: false }])
  const { publicKey } = generateKeyPairSync('ed25519')
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  await call('POST', '/keygroups', { id: 'own', keys: [{ publicKey: pem }] })
  await call('POST', '/cache/policies', { name: 'own', comment: 'made here' })
  await call('POST', '/distributions', { id: 'own', aliases: ['own.test'], origin: { bucket: 'pages' } })
  await call('PUT', '/distributions/own/cache/settings', { distribution: 'own', cache: { policy: 'own' } })
  const created = (await call('GET', '/distributions/site')).createdAt
  t.match((await upload(target, archive)).json, { created: [], changed: [], removed: [] })
  const { json } = await upload(target, archive, 'mode=replace')
  t.same(json.removed.filter((place: string) => place.endsWith('/own')).sort(), [
    'cache-policy/own',
    'distribution-cache/own',
    'distribution/own',
    'key-group/own',
  ])
  t.same((await call('GET', '/distributions')).items.map(({ id }: { id: string }) => id).sort(), ['shop', 'site'])
  t.equal((await call('GET', '/distributions/site')).createdAt, created, 'others are as they were')
  t.match(await call('GET', '/certificates/shop'), { id: 'shop' }, 'certificates are never removed')

  t.match((await upload(source, archive)).json, { created: [], changed: [], removed: [] })
  await callOf(source)('PUT', '/keygroups/viewers', {
    ...(await callOf(source)('GET', '/keygroups/viewers')),
    comment: 'x',
  })
  const { changed, fields } = (await upload(source, archive)).json
  t.same({ changed, fields }, { changed: ['key-group/viewers'], fields: { 'key-group/viewers': ['comment'] } })
  t.match((await callOf(source)('GET', '/keygroups/viewers')).keys, [{ hasPrivateKey: true }], 'the key is kept')
})

t.test('everything that does not fit is named, and nothing is changed', async t => {
  const call = callOf(target)
  for (const id of ['site', 'shop']) await call('DELETE', `/distributions/${id}`)
  await call('POST', '/distributions', { id: 'other', aliases: ['site.test'], origin: { bucket: 'pages' } })
  const { status, json } = await upload(target, archive)
  t.equal(status, 400)
  t.match(json.detail, /distribution\.json\/site\/aliases\/1: is an alias of the distribution other/)
  t.same((await call('GET', '/distributions')).items.length, 1)
  t.equal((await upload(target, archive, 'mode=replace&dryRun=true')).status, 200, 'replace removes the other one')

  const few = await startAdmin({ without: ['key-groups'] })
  t.teardown(few.stop)
  const refused = await upload(few, archive)
  t.match(refused, { status: 400, json: { detail: /documents\/key-group\.json: no plugin that is loaded keeps this/ } })
})

t.test('an archive that does not speak of a part leaves it alone', async t => {
  const few = await startAdmin({ without: ['distributions', 'cache', 'purge-generic', 'purge-cdn', 'website'] })
  t.teardown(few.stop)
  await callOf(few)('POST', '/buckets', { name: 'pages' })
  const before = (await callOf(target)('GET', '/distributions')).items.length
  const { json } = await upload(target, await download(few), 'mode=replace')
  t.notOk(
    json.removed.some((place: string) => place.startsWith('distribution/')),
    JSON.stringify(json.removed),
  )
  t.equal((await callOf(target)('GET', '/distributions')).items.length, before)
})

t.test('each stored collection is in the archive, or says why not', async t => {
  const { kernel } = target
  const idsOf = (point: 'archive.section' | 'archive.part') =>
    kernel
      .point(point)
      .list()
      .map(({ id }) => id)
  const contributed = new Set([...idsOf('archive.section'), ...idsOf('archive.part')])
  const all = kernel.services.store.collections()
  const silent = all.filter(({ name, archiveNote }) => archiveNote === undefined && !contributed.has(name))
  t.same(
    silent.map(({ name }) => name),
    [],
    'contribute to archive.part or archive.section, or say `archiveNote`',
  )
  const twice = all.filter(({ name, archiveNote }) => archiveNote !== undefined && contributed.has(name))
  t.same(twice, [], 'a note is for the others')
})
