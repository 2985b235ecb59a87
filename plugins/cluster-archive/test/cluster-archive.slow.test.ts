/** Out of one deployment and into another one; what is refused; what is interrupted. */

import { request } from 'node:http'
import { definePlugin } from 'svc/kernel'
import {
  responseProblems,
  rootPassword,
  rootUser,
  startAdmin,
  type TestAdmin,
  userSecret,
} from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { eventually } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import { createArchiveMemory } from '../archive-memory.ts'
import { readZip, writeZip } from '../zip-file.ts'
import { download, upload } from './archives.ts'

const source = await startAdmin()
t.teardown(source.stop)
const target = await startAdmin()
t.teardown(target.stop)
const secretOfTarget = 'secret-of-a-webhook'
const secretQuery = 'secret-in-a-query'
const secretPath = 'secret-in-a-path'

const changed = async (bytes: Buffer, change: (files: Map<string, Buffer>) => void) => {
  const files = await readZip(bytes)
  change(files)
  return writeZip(files, new Date())
}

async function fill({ kernel, signed }: TestAdmin) {
  const { users } = kernel.services
  const call = async (method: string, path: string, body?: object) => {
    const { status, text } = await signed({ method, path: `/api/v1${path}`, body })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  }
  const reads = { Effect: 'Allow', Action: ['s3:GetObject'], Resource: 'arn:aws:s3:::photos/*' }
  await users.putPolicy('readers', { Version: '2012-10-17', Statement: [reads] })
  await users.createGroup({ name: 'staff' })
  await users.attachPolicies({ group: 'staff' }, ['readers'])
  await users.createUser({ accessKey: 'ann', secretKey: userSecret, groups: ['staff'], description: 'Ann' })
  await users.createUser({ accessKey: '__proto__', secretKey: userSecret, policyNames: ['readonly'] })
  const ann = (await users.describeIdentity('ann'))!
  const caller = { identity: ann, isAllowed: () => true }
  await users.createAccessKey(caller, {
    accessKey: 'ANNSKEY',
    secretKey: 'secret-of-anns-key',
    policy: { Version: '2012-10-17', Statement: [reads] },
  })
  await call('PATCH', '/config/notify_webhook:hook', {
    settings: { enable: 'on', endpoint: `http://127.0.0.1:9/?token=${secretQuery}`, auth_token: secretOfTarget },
  })
  await call('PATCH', '/config/audit_webhook:chat', {
    settings: { endpoint: `http://127.0.0.1:9/services/${secretPath}` },
  })
  await call('PATCH', '/config/api', { settings: { requests_max: '77' } })
  await call('POST', '/buckets', { name: 'photos', versioning: true, objectLock: true, quotaBytes: 1_000_000 })
  await call('POST', '/buckets', { name: 'plain' })
  await call('PUT', '/buckets/photos/tags', { tags: { team: 'a' } })
  await call('PUT', '/buckets/photos/cors', {
    rules: [{ allowedOrigins: ['https://a.test'], allowedMethods: ['GET'] }],
  })
  await call('PUT', '/buckets/photos/policy', {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/hidden/*' }],
  })
  await call('PUT', '/buckets/photos/lifecycle', { rules: [{ id: 'old', enabled: true, expirationDays: 30 }] }).catch(
    error => t.comment(error.message),
  )
}

await fill(source)
const archive = await download(source)

t.test('the archive has all sections, and no readable secret', async t => {
  const files = await readZip(archive)
  const parts = source.kernel.point('archive.part').list()
  t.same([...files.keys()].sort(), [
    'buckets/photos.json',
    'buckets/plain.json',
    'config.json',
    ...parts.map(({ id }) => `documents/${id}.json`).sort(),
    'iam.bin',
    'manifest.json',
    'policies.json',
  ])
  const all = Buffer.concat([...files.values()]).toString('latin1')
  for (const secret of [userSecret, 'secret-of-anns-key', secretOfTarget, secretQuery, secretPath, rootPassword]) {
    t.notOk(all.includes(secret))
  }
  t.match(JSON.parse(files.get('config.json')!.toString()), {
    'notify_webhook:hook': { auth_token: { sealed: String }, endpoint: { sealed: String } },
    'audit_webhook:chat': { endpoint: { sealed: String } },
    api: { requests_max: '77' },
  })
  t.match(JSON.parse(files.get('buckets/photos.json')!.toString()), {
    versioning: 'enabled',
    objectLock: {},
    quotaBytes: 1_000_000,
    tags: { team: 'a' },
    documents: { 'bucket-cors': {}, 'bucket-policy': {} },
  })
})

t.test('a dry run returns the changes, and makes none', async t => {
  const { status, json } = await upload(target, archive, 'dryRun=true')
  t.equal(status, 200, JSON.stringify(json))
  t.same(responseProblems(target.operations.find(({ id }) => id === 'importCluster')!, json), [])
  t.match(json, {
    mode: 'merge',
    dryRun: true,
    users: 2,
    groups: 1,
    policies: 1,
    configSubsystems: 3,
    buckets: 2,
    bucketsCreated: ['photos', 'plain'],
    removed: [],
  })
  t.same(json.created, [
    'config/audit_webhook:chat',
    'config/notify_webhook:hook',
    'policy/readers',
    'group/staff',
    'user/__proto__',
    'user/ann',
    'access-key/ANNSKEY',
    'bucket/photos/tags',
    'bucket/photos/object-lock',
    'bucket/photos/quota',
    'bucket/photos/bucket-policy',
    'bucket/photos/bucket-cors',
  ])
  t.same(json.changed, ['config/api'])
  t.same(Object.keys(json.fields), ['config/api', 'config/audit_webhook:chat', 'config/notify_webhook:hook'])
  t.ok(json.fields['config/notify_webhook:hook'].includes('auth_token'))
  t.notMatch(JSON.stringify(json), secretOfTarget, 'the names of fields, and no value')
  t.same((await target.signed({ path: '/api/v1/users' })).json.items, [])
  t.same((await target.signed({ path: '/api/v1/buckets' })).json.items, [])
})

t.test('a round trip between two deployments', async t => {
  t.equal((await upload(target, archive)).status, 200)
  const before = await readZip(archive)
  const after = await readZip(await download(target))
  for (const name of ['policies.json', 'buckets/photos.json', 'buckets/plain.json']) {
    t.same(JSON.parse(after.get(name)!.toString()), JSON.parse(before.get(name)!.toString()), name)
  }
  const [one, other] = await Promise.all([source, target].map(({ kernel }) => kernel.services.users.exportDirectory()))
  t.same(other, one)
  t.same(
    await target.kernel.services.settings.administration.export(true),
    await source.kernel.services.settings.administration.export(true),
  )
  t.equal((await target.signedBy('ANNSKEY', 'secret-of-anns-key')({ path: '/api/v1/me/permissions' })).status, 200)
  const { json } = await upload(target, archive)
  t.match(json, { bucketsCreated: [], created: [], changed: [], removed: [] }, 'a second time nothing is different')
  t.same(await target.kernel.services.locks.list(), [])
})

t.test('merge keeps entries that the archive does not have, replace removes them', async t => {
  const { users } = target.kernel.services
  await users.createUser({ accessKey: 'bob', secretKey: userSecret })
  const own = (await users.describeIdentity('ann'))!
  await users.createAccessKey(
    { identity: own, isAllowed: () => true },
    { accessKey: 'MADEHERE', secretKey: 'made-on-the-target' },
  )
  await target.signed({
    method: 'PUT',
    path: '/api/v1/buckets/plain/cors',
    body: { rules: [{ allowedOrigins: ['*'], allowedMethods: ['GET'] }] },
  })
  await target.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'own' } })
  t.match((await upload(target, archive)).json, { created: [], changed: [], removed: [] })
  const made = target.signedBy('MADEHERE', 'made-on-the-target')
  t.equal((await made({ path: '/api/v1/me/permissions' })).status, 200)
  const { json } = await upload(target, archive, 'mode=replace')
  t.same(json.removed, ['access-key/MADEHERE', 'user/bob', 'bucket/plain/bucket-cors'])
  t.equal((await made({ path: '/api/v1/me/permissions' })).status, 401)
  t.same(
    (await target.signed({ path: '/api/v1/users' })).json.items.map(
      ({ accessKey }: { accessKey: string }) => accessKey,
    ),
    ['__proto__', 'ann'],
  )
  t.equal((await target.signed({ path: '/api/v1/buckets/own' })).status, 200, 'buckets are never removed')
})

t.test('the changes of a bucket are listed one by one', async t => {
  const call = async (method: string, path: string, body?: object) => {
    const { status, text } = await target.signed({ method, path: `/api/v1/buckets/${path}`, body })
    t.ok(status < 300, `${method} ${path}: ${status} ${text}`)
  }
  await call('PUT', 'photos/tags', { tags: { team: 'b' } })
  await call('PUT', 'photos/quota', { type: 'hard', size: 5 })
  await call('DELETE', 'photos/policy')
  await call('PUT', 'photos/objectlock', { enabled: true, mode: 'GOVERNANCE', days: 3 })
  await call('PUT', 'plain/tags', { tags: { own: 'x' } })
  await call('PUT', 'plain/quota', { type: 'hard', size: 5 })
  const dryRun = async (mode: string) => {
    const { created, changed, fields, removed } = (await upload(target, archive, `dryRun=true&mode=${mode}`)).json
    t.same(fields, changed.length === 0 ? {} : { 'bucket/photos/tags': ['team'] })
    return { created, changed, removed }
  }
  const [created, changes] = [['bucket/photos/bucket-policy'], ['bucket/photos/tags', 'bucket/photos/quota']]
  t.same(await dryRun('merge'), { created, changed: changes, removed: [] })
  const removals = ['bucket/photos/object-lock', 'bucket/plain/tags', 'bucket/plain/quota']
  t.same(await dryRun('replace'), { created, changed: changes, removed: removals })
  t.same((await upload(target, archive, 'mode=replace')).json.removed, removals)
  t.same(await dryRun('replace'), { created: [], changed: [], removed: [] }, 'so it is then')
})

t.test('one import at a time; a body that announces too much is refused before it is read', async t => {
  const { locks } = target.kernel.services
  await locks.hold('svc/cluster-import', { source: 'test' }, async () => {
    t.match(await upload(target, archive), { status: 409, json: { code: 'conflict' } })
    t.equal((await upload(target, archive, 'dryRun=true')).status, 200, 'a dry run waits for nobody')
  })
  const path = '/api/v1/cluster/import'
  const host = `127.0.0.1:${target.port}`
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const headers = { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
  const signed = signRequest(signer, { method: 'POST', host, path, query: '', headers, nowMs: Date.now() })
  const status = await new Promise((done, fail) => {
    const sent = request({ host: '127.0.0.1', port: target.port, path, method: 'POST', agent: false }, answer => {
      done(answer.statusCode)
      sent.destroy()
    })
    for (const [name, value] of Object.entries({ ...headers, ...signed.headers })) sent.setHeader(name, value)
    sent.setHeader('content-length', 256 * 1024 * 1024 + 1)
    sent.on('error', fail)
    sent.flushHeaders()
  })
  t.equal(status, 413)
})

t.test('archives that are imported at the same time share the memory that there is for them', async t => {
  const memory = createArchiveMemory(10)
  const [one, other] = [memory.share(), memory.share()]
  one.take(6)
  other.take(4)
  t.throws(() => other.take(1), { code: 'conflict', message: /^Other archives .* Nothing was changed\. Try again/ })
  await t.rejects(readZip(archive, other.take), { code: 'conflict' }, 'also of what is unpacked')
  one.end()
  one.end()
  other.take(6)
  t.throws(() => one.take(1), { code: 'conflict' })

  // Its directory announces 250 MiB, so these are taken; the file has less.
  const large = Buffer.from(archive)
  large.writeUInt32LE(250 * 1024 * 1024, large.lastIndexOf('PK\x01\x02', large.lastIndexOf('config.json')) + 24)
  for (let round = 0; round < 3; round++) {
    const { json } = await upload(target, large, 'dryRun=true')
    t.match(json, { code: 'invalid_archive', detail: /not enough bytes/ }, 'what one took is given back')
  }
})

/** Settings of buckets that cannot be written as often as `failures` says. */
function brittle() {
  const state = { failures: 0, isBlank: false }
  const plugin = definePlugin({
    name: 'brittle',
    requires: ['users'],
    config: Type.Object({}),
    setup({ contribute }) {
      contribute('archive.section', 'brittle', {
        documents: {
          name: 'brittle',
          // Of a bucket that has the same document nothing is written.
          read: async () => (state.isBlank ? undefined : { is: 'brittle' }),
          check: () => undefined,
          stage() {
            if (state.failures-- > 0) throw new Error('the drive is away')
          },
        },
      })
      return {}
    },
  })
  return { state, plugin }
}

const namesIn = async ({ signed }: Pick<TestAdmin, 'signed'>): Promise<string[]> =>
  (await signed({ path: '/api/v1/buckets' })).json.items.map(({ name }: { name: string }) => name)

t.test('an interrupted import is completed although the root password has changed since', async t => {
  const { state, plugin } = brittle()
  const plugins = [plugin]
  const storage = { endpoints: [t.testdir()] }
  const full = await startAdmin({ plugins })
  for (const name of ['photos', 'plain']) {
    await full.signed({ method: 'POST', path: '/api/v1/buckets', body: { name } })
  }
  const whole = await download(full)
  await full.stop()
  state.isBlank = true
  const first = await startAdmin({ plugins, config: { storage } })
  state.failures = Number.POSITIVE_INFINITY
  t.equal((await upload(first, whole)).status, 500)
  await first.stop()
  state.failures = 0
  const password = 'another-root-password'
  const second = await startAdmin({
    plugins,
    config: {
      storage,
      iam: { rootUser, rootPassword: password },
      store: { previousRootPassword: rootPassword },
    },
  })
  t.teardown(second.stop)
  const signed = second.signedBy(rootUser, password)
  const names = await eventually(
    () => namesIn({ signed }),
    found => found.length === 2,
    60_000,
  )
  t.same(names, ['photos', 'plain'])
})

t.test('an import that stopped half-way is completed before another one begins', async t => {
  const { state, plugin } = brittle()
  const plugins = [plugin]
  const [full, empty, own] = await Promise.all([1, 2, 3].map(() => startAdmin({ plugins })))
  for (const server of [full!, empty!, own!]) t.teardown(server.stop)
  await full!.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos' } })
  await full!.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'plain' } })
  const [whole, nothing] = await Promise.all([full!, empty!].map(download))
  state.isBlank = true
  // The server tries again every few seconds.
  state.failures = Number.POSITIVE_INFINITY
  t.equal((await upload(own!, whole!)).status, 500)
  t.same(await namesIn(own!), ['photos'], 'half of it is there')
  state.failures = 0
  // The interrupted one may be tried again by the server itself in the same moment.
  const uploadNothing = () =>
    eventually(
      () => upload(own!, nothing!),
      ({ status }) => status !== 409,
      60_000,
    )
  t.equal((await uploadNothing()).status, 200)
  t.same(await namesIn(own!), ['photos', 'plain'], 'and now all of it')
  t.match(
    own!.kernel.logs.filter(({ plugin, msg }) => plugin === 'cluster-archive' && /is complete now/.test(String(msg))),
    [{ level: 'warn', msg: /was interrupted, and is complete now/, startedBy: rootUser }],
  )

  state.failures = Number.POSITIVE_INFINITY
  t.equal((await upload(own!, whole!)).status, 500)
  t.equal((await uploadNothing()).status, 200, 'one that cannot be completed gives way')
  t.match(
    own!.kernel.logs.find(({ plugin, level }) => plugin === 'cluster-archive' && level === 'error'),
    { msg: /cannot be completed; another one takes its place/ },
  )
  state.failures = 0
  t.same((await upload(own!, nothing!)).json.removed, [])
})

t.test('invalid archives are refused, and change nothing', async t => {
  const { users } = target.kernel.services
  const before = await users.exportDirectory()
  const refused = async (bytes: Buffer, status: number, code: string, detail: RegExp) => {
    const { status: found, json } = await upload(target, bytes)
    t.match({ status: found, code: json.code, detail: json.detail }, { status, code, detail })
  }
  await refused(Buffer.from('no archive'), 400, 'invalid_archive', /no ZIP file/)
  await refused(archive.subarray(0, 500), 400, 'invalid_archive', /no ZIP file/)
  await refused(await writeZip(new Map([['a', Buffer.from('b')]]), new Date()), 400, 'invalid_archive', /no manifest/)
  const edit = (name: string, from: string, to: string) =>
    changed(archive, files => files.set(name, Buffer.from(files.get(name)!.toString().replace(from, to))))
  await refused(
    await edit('policies.json', 's3:GetObject', 's3:*'),
    400,
    'invalid_archive',
    /policies\.json: was changed/,
  )
  await refused(
    await edit('manifest.json', '"server": "', '"server": "x'),
    400,
    'invalid_archive',
    /manifest\.json was changed/,
  )
  await refused(
    await edit('manifest.json', '"version": 2', '"version": 3'),
    400,
    'invalid_archive',
    /version 3 of the format/,
  )
  await refused(
    await changed(archive, files => files.delete('buckets/plain.json')),
    400,
    'invalid_archive',
    /plain\.json: is missing/,
  )
  await refused(
    await changed(archive, files => files.set('more', Buffer.from('x'))),
    400,
    'invalid_archive',
    /more: is not in manifest/,
  )
  await refused(
    await edit('manifest.json', '{', `{"deep":${'['.repeat(100)}${']'.repeat(100)},`),
    400,
    'invalid_archive',
    /manifest\.json is not that of a cluster archive/,
  )
  const twice = Buffer.from(
    archive.toString('latin1').replaceAll('buckets/plain.json', 'buckets/photos.json').slice(0),
    'latin1',
  )
  t.equal((await upload(target, twice)).json.code, 'invalid_archive')
  const outside = Buffer.from(
    archive.toString('latin1').replaceAll('buckets/plain.json', '../../../plain.json'),
    'latin1',
  )
  t.equal((await upload(target, outside)).json.code, 'invalid_archive')
  await users.createUser({ accessKey: 'few', secretKey: userSecret })
  t.equal((await upload(target, archive, '', 'few', userSecret)).status, 403)
  await users.deleteUser('few', (await users.describeIdentity(rootUser))!)
  t.same(await users.exportDirectory(), before)

  const other = await startAdmin({ config: { iam: { rootUser, rootPassword: 'another-password' } } })
  t.teardown(other.stop)
  const answer = await upload(other, archive, '', rootUser, 'another-password')
  t.match(answer, { status: 409, json: { code: 'conflict', detail: /other root credentials/ } })
})

t.test('everything that is wrong is named', async t => {
  const { users } = target.kernel.services
  const directory = await source.kernel.services.users.exportDirectory()
  const wrong = {
    ...directory,
    users: new Map([['ann', { ...directory.users.get('ann')!, groups: ['nowhere'], policyNames: ['missing'] }]]),
    policies: new Map([['bad', { Version: '2012-10-17', Statement: [{ Effect: 'Maybe' }] }]]),
  }
  const error: Error & { cause?: { element: string }[] } = await users
    .importDirectory(wrong, { mode: 'replace' })
    .catch(error => error)
  t.match(error, { code: 'invalid_argument' })
  t.same([...new Set(error.cause!.map(({ element }) => element))].sort(), ['groups/staff', 'policies/bad', 'users/ann'])
})
