/** Operations on key groups, over a real drive: documents, rotation, what is in use, and what nobody ever sees. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { responseProblems, startAdmin, userSecret } from 'svc/plugins/admin/testing'
import type { StoreService } from 'svc/plugins/store/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import '../api.ts'

const clock = createFakeClock(Date.parse('2026-03-01T12:00:00Z'))
/** Stands where distributions are: documents that name key groups. */
const declareSites = (store: StoreService) =>
  store.collection({ name: 'site', version: 1, schema: Type.Object({ group: Type.String() }) })
const shared: { sites?: ReturnType<typeof declareSites>; beforeFence?: () => Promise<unknown> } = {}
const sitesPlugin = definePlugin({
  name: 'sites',
  requires: ['store', 'keyGroups'],
  setup({ services, contribute }) {
    const sites = declareSites(services.store)
    shared.sites = sites
    contribute('keyGroups.user', 'sites', {
      async uses() {
        const site = await sites.get('www')
        await shared.beforeFence?.()
        const condition = site === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: site.etag }
        return {
          byId: new Map(site === undefined ? [] : [[site.value.group, [{ name: 'www', bucket: 'pages' }]]]),
          fence: tx => tx.require(sites, 'www', condition),
        }
      },
    })
  },
})
const folder = t.testdir()
const server = await startAdmin({
  ports: { clock },
  config: { storage: { endpoints: [folder] } },
  plugins: [sitesPlugin],
})
t.teardown(server.stop)
const { signed, operations } = server
const { keyGroups, store, users } = server.kernel.services
for (const accessKey of ['manager', 'reader']) await users.createUser({ accessKey, secretKey: userSecret })
await users.putPolicy('distributions', {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: 'admin:ManageDistributions' }],
})
await users.attachPolicies({ user: 'manager' }, ['distributions'])

const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
  const answer = await signed({ method, path: `/api/v1/keygroups${path}`, body, headers })
  const template = path
    .split('?')[0]
    .replace(/^\/[^/]+/, '/{id}')
    .replace(/\/keys\/[^/]+/, '/keys/{keyId}')
  const operation = operations.find(one => one.method === method && one.path === `/keygroups${template}`)!
  if (answer.status < 300) t.same(responseProblems(operation, answer.json), [], `${method} ${path}`)
  return answer
}
const outcome = ({ status, json }: { status: number; json?: { code?: string } }) =>
  `${status}${json?.code === undefined ? '' : ` ${json.code}`}`

const pem = (key: { export(options: { type: 'spki'; format: 'pem' }): string | Buffer }) =>
  key.export({ type: 'spki', format: 'pem' }).toString()
const ed25519 = () => pem(generateKeyPairSync('ed25519').publicKey)
const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey)
/** RFC 8032 7.1, test 1. */
const rfc8032 = pem(
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
    format: 'jwk',
  }),
)

t.test('a group is created, read, listed, replaced and deleted', async t => {
  const created = await call('POST', '', {
    id: 'films',
    comment: 'for films',
    keys: [{ publicKey: rfc8032, name: 'a' }],
  })
  t.equal(created.status, 201)
  t.equal(created.headers.location, '/api/v1/keygroups/films')
  t.equal(created.headers.etag, `"${created.json.etag}"`)
  t.match(created.json, {
    id: 'films',
    comment: 'for films',
    usedBy: [],
    createdAt: '2026-03-01T12:00:00.000Z',
    keys: [
      { name: 'a', algorithm: 'ed25519', publicKey: rfc8032, hasPrivateKey: false, enabled: true, allowSha1: false },
    ],
  })
  // K and the first 13 characters of the base32 of the SHA-256 of the SPKI: `openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base32`.
  t.equal(created.json.keys[0].id, 'KA3R73D62FG5WB')
  const read = await call('GET', '/films')
  t.same(read.json, created.json)
  t.equal(outcome(await call('POST', '', { id: 'films' })), '409 already_exists')
  t.equal(outcome(await call('GET', '/other')), '404 key_group_not_found')

  const again = await call('PUT', '/films', read.json)
  t.equal(again.status, 200, 'what was read can be sent back')
  t.same(again.json, read.json, 'and changes nothing')
  const stale = await call('PUT', '/films', { comment: 'x' }, { 'if-match': '"0123"' })
  t.equal(outcome(stale), '412 precondition_failed')
  const replaced = await call(
    'PUT',
    '/films',
    { comment: 'new', keys: [{ id: 'KA3R73D62FG5WB', enabled: false }] },
    {
      'if-match': read.headers.etag as string,
    },
  )
  t.match(replaced.json, { comment: 'new', keys: [{ enabled: false, name: '', publicKey: rfc8032 }] })
  t.not(replaced.json.etag, read.json.etag)
  t.equal((await call('PUT', '/songs', {})).status, 201, 'PUT creates')
  const list = await call('GET', '?limit=1')
  t.same([list.json.items.map(({ id }: { id: string }) => id), list.json.nextCursor !== ''], [['films'], true])
  const rest = await call('GET', `?limit=1&cursor=${list.json.nextCursor}`)
  t.same([rest.json.items.map(({ id }: { id: string }) => id), rest.json.nextCursor], [['songs'], ''])
  t.equal(outcome(await call('DELETE', '/films', undefined, { 'if-match': read.json.etag })), '412 precondition_failed')
  t.equal(outcome(await call('DELETE', '/films', undefined, { 'if-match': replaced.json.etag })), '204')
  t.equal(outcome(await call('DELETE', '/films')), '404 key_group_not_found')
  t.equal(outcome(await call('DELETE', '/songs')), '204')
})

t.test('an invalid key group is refused with the place of the error, and nothing is stored', async t => {
  const twice = ed25519()
  const other = ed25519()
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ publicKey: 'x' }, /^\/keys\/0\/publicKey is not one public key in PEM/],
    [{ publicKey: `${twice}${other}` }, /is not one public key in PEM/],
    [{ publicKey: privateKey }, /is a private key/],
    [{ publicKey: twice.replace(/\n[A-Za-z0-9+/]{8}/, '\nAAAAAAAA') }, /cannot be read as a public key/],
    [{ publicKey: pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey) }, /has 1024 bits/],
    [{ publicKey: pem(generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey) }, /exponent/],
    [{ publicKey: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey) }, /is a key of the type ec;/],
    [{ publicKey: pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey) }, /of the type rsa-pss;/],
    [{ publicKey: twice, algorithm: 'rsa' }, /^\/keys\/0\/algorithm is rsa, and the key is ed25519/],
    [{ publicKey: twice, allowSha1: true }, /^\/keys\/0\/allowSha1 is for RSA keys/],
    [{ publicKey: twice, id: 'KAAAAAAAAAAAAA' }, /^\/keys\/0\/id is not the id of its publicKey, which is K/],
    [{ id: 'KAAAAAAAAAAAAA' }, /^\/keys\/0\/id names "KAAAAAAAAAAAAA", which is not in the group/],
    [{ name: 'nothing' }, /^\/keys\/0 has neither id nor publicKey/],
  ]
  for (const [key, message] of cases) {
    const refused = await call('POST', '', { id: 'bad', keys: [key] })
    t.equal(outcome(refused), '400 invalid_key_group')
    t.match(refused.json.detail, message)
    t.match(refused.json.errors, [{ element: /^\/keys\/0/ }])
    t.notMatch(refused.text, /PRIVATE KEY-----/)
  }
  const doubled = await call('POST', '', { id: 'bad', keys: [{ publicKey: twice }, { publicKey: twice }] })
  t.match(doubled.json.detail, /^\/keys\/1 is the key K\w+ again/)
  for (const id of ['Films', 'a/b', '.', '..', 'ü', 'a b']) {
    t.equal(outcome(await call('POST', '', { id })), '400 invalid_key_group', id)
  }
  t.equal(outcome(await call('POST', '', { id: 'x'.repeat(65) })), '400 invalid_argument')
  const many = Array.from({ length: 11 }, () => ({ publicKey: ed25519() }))
  t.equal(outcome(await call('POST', '', { id: 'bad', keys: many })), '400 invalid_argument')
  t.equal(outcome(await call('PUT', '/bad', { id: 'good' })), '400 invalid_argument')
  t.equal(outcome(await call('POST', '', { id: 'bad', comment: 'a\u0001b' })), '400 invalid_argument')
  t.equal(outcome(await call('GET', '/bad')), '404 key_group_not_found')
})

t.test('keys are added, made and removed; the private key is shown once', async t => {
  await call('POST', '', { id: 'films' })
  const added = await call('POST', '/films/keys', { publicKey: rsa, name: 'old' })
  t.match(added.json, { name: 'old', algorithm: 'rsa', hasPrivateKey: false, enabled: true })
  t.equal(added.json.privateKey, undefined)
  t.equal(added.headers.location, `/api/v1/keygroups/films/keys/${added.json.id}`)
  t.equal(outcome(await call('POST', '/films/keys', { publicKey: rsa })), '409 already_exists')
  await clock.advance(1000)
  const made = await call('POST', '/films/keys', { generate: true, name: 'new' })
  t.match(made.json, { name: 'new', algorithm: 'ed25519', hasPrivateKey: true, createdAt: '2026-03-01T12:00:01.000Z' })
  t.match(made.json.privateKey, /^-----BEGIN PRIVATE KEY-----\n/)
  t.equal(pem(createPublicKey(made.json.privateKey)), made.json.publicKey)
  const outside = await call('POST', '/films/keys', { generate: true, algorithm: 'rsa', storePrivateKey: false })
  t.match(outside.json, { algorithm: 'rsa', hasPrivateKey: false, privateKey: /^-----BEGIN PRIVATE KEY-----/ })
  t.equal(createPublicKey(outside.json.publicKey).asymmetricKeyDetails!.modulusLength, 2048)

  const secret = made.json.privateKey.split('\n')[1]
  const bytes = Buffer.from(secret, 'base64').subarray(16)
  for (const path of ['', '/films']) t.notMatch((await call('GET', path)).text, secret, 'never read again')
  const replaced = await call('PUT', '/films', { keys: [{ id: made.json.id, name: 'renamed' }] })
  t.match(replaced.json.keys, [{ name: 'renamed', hasPrivateKey: true, createdAt: '2026-03-01T12:00:01.000Z' }])
  t.notMatch(replaced.text, secret)
  t.notMatch(JSON.stringify(server.kernel.logs), secret, 'neither is it in the log')
  t.notMatch(JSON.stringify(await server.kernel.services.audit.recent(1000)), secret, 'nor in the audit records')
  let isFound = false
  for (const name of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue
    const stored = await readFile(join(name.parentPath, name.name))
    t.notOk(stored.includes(secret) || stored.includes(bytes), `nor on the drive: ${name.name}`)
    isFound ||= stored.includes(made.json.publicKey.split('\n')[1])
  }
  t.ok(isFound, 'where the public key is plain')

  t.equal(outcome(await call('DELETE', '/films/keys/KNOTHING')), '404 key_not_found')
  t.equal(outcome(await call('DELETE', `/films/keys/${made.json.id}`)), '204')
  t.same((await call('GET', '/films')).json.keys, [])
  const wrong = [{}, { generate: true, publicKey: rsa }, { publicKey: rsa, algorithm: 'rsa' }, { generate: false }]
  for (const body of wrong) t.equal(outcome(await call('POST', '/films/keys', body)), '400 invalid_key_group')
  t.equal(outcome(await call('POST', '/none/keys', { generate: true })), '404 key_group_not_found')
  for (let i = 0; i < 10; i++) await keyGroups.addKey('films', { generate: true })
  const eleventh = await call('POST', '/films/keys', { generate: true })
  t.equal(outcome(eleventh), '400 invalid_key_group')
  t.match(eleventh.json.detail, /at most 10 keys/)
  await call('DELETE', '/films')
})

t.test('a group that is needed stays, and so does its last key', async t => {
  const sites = shared.sites!
  await call('POST', '', { id: 'films', keys: [{ publicKey: rsa }, { publicKey: rfc8032 }] })
  const [first, second] = (await call('GET', '/films')).json.keys
  await sites.put('www', { group: 'films' })
  t.same((await call('GET', '/films')).json.usedBy, ['www'])
  const refused = await call('DELETE', '/films')
  t.equal(outcome(refused), '409 key_group_in_use')
  t.match(refused.json.detail, /www needs it/)
  t.equal(outcome(await call('DELETE', `/films/keys/${first.id}`)), '204')
  t.equal(outcome(await call('DELETE', `/films/keys/${second.id}`)), '409 key_group_in_use')
  t.equal(outcome(await call('PUT', '/films', { keys: [] })), '409 key_group_in_use')
  const disabled = await call('PUT', '/films', { keys: [{ id: second.id, enabled: false }] })
  t.equal(disabled.status, 200, 'a key that is known to others can be disabled at once')

  await sites.put('www', { group: 'other' })
  let hasCome = false
  shared.beforeFence = async () => {
    // Somebody begins to use the group while it is being deleted.
    if (!hasCome) await sites.put('www', { group: 'films' })
    hasCome = true
  }
  t.equal(outcome(await call('DELETE', '/films')), '409 key_group_in_use', 'a race has one winner')
  shared.beforeFence = undefined
  await sites.delete('www')
  t.equal(outcome(await call('DELETE', '/films')), '204')
  await t.rejects(
    store.transaction(tx => {
      tx.put(sites, 'www', { group: 'films' })
      keyGroups.requireIn(tx, 'films')
    }),
    { code: 'precondition_failed' },
    'and nothing that comes later names it',
  )
  t.equal(await sites.get('www'), undefined)
  t.equal(await keyGroups.exists('films'), false)
})

t.test('keys that are added at the same time are all there', async t => {
  await call('POST', '', { id: 'films' })
  const added = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/films/keys', { generate: true })))
  t.same(new Set(added.map(({ status }) => status)), new Set([201]))
  const { keys } = (await call('GET', '/films')).json
  t.same(new Set(keys.map(({ id }: { id: string }) => id)), new Set(added.map(({ json }) => json.id)))
  await call('DELETE', '/films')
})

t.test(
  'callers without the right to manage distributions read and change nothing; each call has an audit record',
  async t => {
    const reader = server.signedBy('reader', userSecret)
    const manager = server.signedBy('manager', userSecret)
    for (const { id, method, path } of operations.filter(({ path }) => path.startsWith('/keygroups'))) {
      const target = `/api/v1${path.replace('{id}', 'films').replace('{keyId}', 'K')}`
      const body = method === 'POST' || method === 'PUT' ? {} : undefined
      t.equal(outcome(await reader({ method, path: target, body })), '403 access_denied', id)
    }
    t.equal((await manager({ path: '/api/v1/keygroups' })).status, 200)
    await call('POST', '', { id: 'films' })
    await call('DELETE', '/films')
    const records = JSON.stringify(await server.kernel.services.audit.recent(1000))
    for (const name of ['createKeyGroup', 'deleteKeyGroup', 'addKeyGroupKey', 'removeKeyGroupKey', 'putKeyGroup']) {
      t.match(records, `"${name}"`)
    }
  },
)
