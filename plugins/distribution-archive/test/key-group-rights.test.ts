/** The right to manage distributions counts per bucket, for key groups too: their keys open the buckets of all distributions that name them. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

t.setTimeout(300_000)
const server = await startAdmin()
t.teardown(() => server.stop())
for (const Bucket of ['open', 'hidden']) await server.s3.send(new CreateBucketCommand({ Bucket }))
const secretKey = 'editor-secret-key-1'
const send = (method: string, path: string, body?: unknown, caller = server.signed) =>
  caller({ method, path: `/api/v1${path}`, body })
const pem = () => generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string
const action = { Action: ['admin:ManageDistributions'] }
const site = (id: string, bucket: string, keyGroup: string) => ({
  id,
  aliases: [`${id}.example.test`],
  origin: { bucket },
  defaultBehavior: { access: 'signed', signing: { keyGroup } },
})
for (const [method, path, body] of [
  [
    'PUT',
    '/policies/editor',
    {
      document: {
        Version: '2012-10-17',
        Statement: [
          { Effect: 'Allow', ...action, Resource: ['arn:aws:s3:::*'] },
          { Effect: 'Deny', ...action, Resource: ['arn:aws:s3:::hidden', 'arn:aws:s3:::hidden/*'] },
        ],
      },
    },
  ],
  ['POST', '/users', { accessKey: 'editor', secretKey }],
  ['POST', '/policies/attach', { policyNames: ['editor'], user: 'editor' }],
  ['POST', '/keygroups', { id: 'shared', keys: [{ publicKey: pem() }, { publicKey: pem() }] }],
  ['POST', '/keygroups', { id: 'own', keys: [{ publicKey: pem() }] }],
  ['POST', '/distributions', site('veiled', 'hidden', 'shared')],
  ['POST', '/distributions', site('seen', 'open', 'shared')],
  ['POST', '/distributions', site('mine', 'open', 'own')],
] as const) {
  const answer = await send(method, path, body)
  if (answer.status >= 300) throw new Error(answer.text)
}
const editor = server.signedBy('editor', secretKey)
const stored = async () => (await send('GET', '/keygroups/shared')).json
const group = (name: string, keys: readonly string[]) =>
  JSON.stringify({
    apiVersion: 'svc/v1',
    kind: 'KeyGroup',
    metadata: { name },
    spec: { keys: keys.map(publicKey => ({ publicKey })) },
  })
const importing = (text: string, query = '') =>
  editor({
    method: 'POST',
    path: `/api/v1/distributions/import${query}`,
    headers: { 'content-type': 'application/yaml' },
    body: text,
  })

t.test('a group of a distribution that the caller may not manage is not changed', async t => {
  const before = await stored()
  t.same(before.usedBy, ['seen', 'veiled'])
  t.equal((await send('GET', '/distributions/veiled', undefined, editor)).status, 403)
  for (const [method, path, body] of [
    ['POST', '/keygroups/shared/keys', { generate: true, storePrivateKey: false }],
    ['POST', '/keygroups/shared/keys', { publicKey: pem() }],
    ['PUT', '/keygroups/shared', { keys: [{ publicKey: pem() }] }],
    ['PUT', '/keygroups/shared', { keys: [] }],
    ['DELETE', '/keygroups/shared', undefined],
    ['DELETE', `/keygroups/shared/keys/${before.keys[0].id}`, undefined],
  ] as const) {
    const refused = await send(method, path, body, editor)
    t.match(refused, { status: 403, json: { code: 'access_denied' } }, `${method} ${path}`)
    t.match(refused.json.detail, /of a bucket on which you do not have admin:ManageDistributions/)
    t.notMatch(refused.text, /veiled|hidden|PRIVATE/)
  }
  for (const text of [group('shared', [pem()]), group('shared', [])]) {
    for (const query of ['', '?dryRun=true']) {
      const refused = await importing(text, query)
      t.match(refused, { status: 403, json: { code: 'access_denied', detail: /^KeyGroup\/shared: / } })
      t.notMatch(refused.text, /veiled|hidden/)
    }
  }
  t.same(await stored(), before)
})

t.test(
  'nobody names a group that opens a bucket of somebody else, to sign with its keys or to have a say in it',
  async t => {
    const before = await stored()
    const taken = site('taker', 'open', 'shared')
    const { id, ...spec } = taken
    const document = JSON.stringify({ apiVersion: 'svc/v1', kind: 'Distribution', metadata: { name: id }, spec })
    for (const refused of [
      await send('POST', '/distributions', taken, editor),
      await send('PUT', '/distributions/mine', site('mine', 'open', 'shared'), editor),
      await importing(document),
      await importing(document, '?dryRun=true'),
    ]) {
      t.match(refused, { status: 403, json: { code: 'access_denied' } })
      t.match(refused.text, /key group shared opens a bucket of somebody else/)
      t.notMatch(refused.text, /veiled|hidden/)
    }
    t.same((await stored()).usedBy, before.usedBy)
    const { json: seen } = await send('GET', '/distributions/seen', undefined, editor)
    t.equal((await send('PUT', '/distributions/seen', { ...seen, comment: 'as before' }, editor)).status, 200)
    t.equal((await send('POST', '/distributions?dryRun=true', site('taker', 'open', 'own'), editor)).status, 200)
    t.equal((await send('POST', '/distributions?dryRun=true', taken)).status, 200, 'whoever manages both buckets')
  },
)

t.test('a group that no distribution names yet belongs to who made it', async t => {
  t.equal(
    (await send('POST', '/keygroups', { id: 'planned', keys: [{ publicKey: pem() }, { publicKey: pem() }] })).status,
    201,
  )
  const planned = async () => (await send('GET', '/keygroups/planned')).json
  const before = await planned()
  for (const [method, path, body] of [
    ['POST', '/keygroups/planned/keys', { generate: true }],
    ['PUT', '/keygroups/planned', { keys: [] }],
    ['DELETE', '/keygroups/planned', undefined],
    ['DELETE', `/keygroups/planned/keys/${before.keys[0].id}`, undefined],
    ['POST', '/distributions', site('taker', 'open', 'planned')],
    ['PUT', '/distributions/mine', site('mine', 'open', 'planned')],
  ] as const) {
    const refused = await send(method, path, body, editor)
    t.match(refused, { status: 403, json: { code: 'access_denied' } }, `${method} ${path}`)
    t.match(refused.json.detail, /made .*by somebody else|Somebody else made/, `${method} ${path}`)
  }
  const { id, ...spec } = site('taker', 'open', 'planned')
  const naming = JSON.stringify({ apiVersion: 'svc/v1', kind: 'Distribution', metadata: { name: id }, spec })
  for (const text of [group('planned', [pem()]), `${group('planned', [pem()])}\n---\n${naming}`]) {
    for (const query of ['', '?dryRun=true']) {
      t.match(await importing(text, query), { status: 403, json: { code: 'access_denied' } })
    }
  }
  const { id: mineId, ...mineSpec } = site('mine', 'open', 'own')
  const { id: seenId, ...seenSpec } = site('seen', 'open', 'shared')
  const kept = [
    [mineId, mineSpec],
    [seenId, seenSpec],
  ].map(([name, spec]) => JSON.stringify({ apiVersion: 'svc/v1', kind: 'Distribution', metadata: { name }, spec }))
  const { id: groupId, ...ofOwn } = (await send('GET', '/keygroups/own', undefined, editor)).json
  const keys = ofOwn.keys.map(({ publicKey }: { publicKey: string }) => publicKey)
  const replaced = await importing(`${group(groupId, keys)}\n---\n${kept.join('\n---\n')}`, '?mode=replace')
  t.equal(replaced.status, 200, replaced.text)
  t.same(await planned(), before, 'an import that replaces leaves it')
  t.notMatch((await send('GET', '/distributions/export?kind=KeyGroup', undefined, editor)).text, /name: planned/)

  t.equal((await send('POST', '/keygroups', { id: 'planned' }, editor)).status, 409)
  t.equal((await send('POST', '/keygroups', { id: 'theirs', keys: [{ publicKey: pem() }] }, editor)).status, 201)
  const key = await send('POST', '/keygroups/theirs/keys', { generate: true }, editor)
  t.equal(key.status, 201)
  t.equal((await send('POST', '/distributions', site('taker', 'open', 'theirs'), editor)).status, 201)
  t.equal((await send('DELETE', '/distributions/taker', undefined, editor)).status, 204)
  t.equal((await send('DELETE', `/keygroups/theirs/keys/${key.json.id}`)).status, 204, 'whoever manages users may')
  t.equal((await send('DELETE', '/keygroups/theirs', undefined, editor)).status, 204)
  t.equal((await send('DELETE', '/keygroups/planned')).status, 204)
})

t.test('nobody opens another bucket with keys that somebody else has added', async t => {
  const planner = server.signedBy('planner', secretKey)
  for (const [method, path, body] of [
    ['PUT', '/policies/planner', { document: { Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...action }] } }],
    ['POST', '/users', { accessKey: 'planner', secretKey }],
    ['POST', '/policies/attach', { policyNames: ['planner'], user: 'planner' }],
  ] as const) {
    t.ok((await send(method, path, body)).status < 300, path)
  }
  t.equal((await send('POST', '/keygroups', { id: 'trap', keys: [{ publicKey: pem() }] }, editor)).status, 201)
  t.equal((await send('POST', '/distributions', site('bait', 'open', 'trap'), editor)).status, 201)
  const caught = site('caught', 'hidden', 'trap')
  const moved = (await send('POST', '/distributions', site('moved', 'open', 'trap'), planner)).json
  t.same(
    moved.warnings?.filter((text: string) => /others have added/.test(text)),
    [],
    'they open that bucket already',
  )
  for (const refused of [
    await send('POST', '/distributions', caught, planner),
    await send('PUT', '/distributions/moved', { ...moved, origin: { ...moved.origin, bucket: 'hidden' } }, planner),
  ]) {
    t.match(refused, { status: 403, json: { detail: /key group trap has keys that somebody else has added/ } })
  }
  const told = await send('POST', '/distributions?dryRun=true', caught)
  t.equal(told.status, 200, 'whoever manages users may')
  t.match(told.text, /keys that others have added \(editor\): with them they get into hidden/)
  const { id, ...spec } = caught
  const document = JSON.stringify({ apiVersion: 'svc/v1', kind: 'Distribution', metadata: { name: id }, spec })
  const imported = await server.signed({
    method: 'POST',
    path: '/api/v1/distributions/import?dryRun=true',
    headers: { 'content-type': 'application/yaml' },
    body: document,
  })
  t.match(imported.json.warnings, [/keys that others have added \(editor\)/], imported.text)
  for (const each of ['bait', 'moved']) t.equal((await send('DELETE', `/distributions/${each}`)).status, 204)
  t.equal((await send('DELETE', '/keygroups/trap')).status, 204)
})

t.test('a user has at most a hundred key groups that no distribution names', async t => {
  const make = (count: number) => send('POST', '/keygroups', { id: `many-${count}` }, editor)
  for (let count = 0; count < 90; count++) {
    const { status } = await make(count)
    if (status !== 201) t.fail(`number ${count} is answered ${status}`)
  }
  const atOnce = await Promise.all(Array.from({ length: 30 }, (_, count) => make(90 + count)))
  t.equal(atOnce.filter(({ status }) => status === 201).length, 10, 'also of those that are made at once')
  const ids: string[] = (await send('GET', '/keygroups?limit=1000')).json.items.map((each: { id: string }) => each.id)
  const many = ids.filter(id => id.startsWith('many-'))
  t.equal(many.length, 100)
  for (const refused of [
    await send('POST', '/keygroups', { id: 'one-more' }, editor),
    await send('PUT', '/keygroups/one-more', {}, editor),
    await importing(group('one-more', [])),
  ]) {
    t.match(refused, {
      status: 400,
      json: { detail: /101 key groups that no distribution names, and 100 are the most/ },
    })
  }
  t.equal((await send('POST', '/keygroups', { id: 'one-more' })).status, 201, 'whoever manages users may')
  for (const id of ['one-more', ...many]) t.equal((await send('DELETE', `/keygroups/${id}`)).status, 204)
})

t.test('a distribution that moves says whom signatures of before let in', async t => {
  const moved = { ...site('mine', 'open', 'own'), origin: { bucket: 'open', pathPrefix: 'later/' } }
  const before = (await send('GET', '/distributions/mine')).json
  t.match(await send('PUT', '/distributions/mine', moved, editor), {
    status: 200,
    json: { warnings: [/signed before open open\/later\/ as well, until they expire: .* the keys of own, or name/] },
  })
  const again = await send('PUT', '/distributions/mine', { ...moved, comment: 'again' }, editor)
  t.notMatch(again.text, /signed before/, 'only at the move')
  t.equal((await send('PUT', '/distributions/mine', before, editor)).status, 200)
})

t.test('a domain that is taken does not tell by whom', async t => {
  const squatting = { ...site('taker', 'open', 'own'), aliases: ['veiled.example.test'] }
  t.match(await send('POST', '/distributions', squatting, editor), {
    status: 409,
    json: { detail: 'veiled.example.test is an alias of a distribution of somebody else.' },
  })
  t.match(await send('POST', '/distributions', squatting), { json: { detail: /alias of the distribution veiled/ } })
  const wildcard = { ...site('wild', 'hidden', 'shared'), aliases: ['*.veiled.test'] }
  t.equal((await send('POST', '/distributions', wildcard)).status, 201)
  const below = { ...site('taker', 'open', 'own'), aliases: ['www.veiled.test'] }
  t.match(await send('POST', '/distributions', below, editor), {
    status: 403,
    json: { detail: 'www.veiled.test lies below *.veiled.test, a domain of a distribution of somebody else.' },
  })
  t.equal((await send('DELETE', '/distributions/wild')).status, 204)
})

t.test('reads name the distributions that the caller may manage', async t => {
  t.same((await send('GET', '/keygroups/shared', undefined, editor)).json.usedBy, ['seen'])
  const { items } = (await send('GET', '/keygroups', undefined, editor)).json
  t.same(
    items.map(({ id, usedBy }: { id: string; usedBy: string[] }) => [id, usedBy]),
    [
      ['own', ['mine']],
      ['shared', ['seen']],
    ],
  )
  const exported = await send('GET', '/distributions/export?kind=KeyGroup', undefined, editor)
  t.match(exported.text, /name: own/)
  t.notMatch(exported.text, /name: shared|veiled/)
})

t.test('an import that replaces leaves the groups of others', async t => {
  const replaced = await importing(group('fresh', [pem()]), '?mode=replace&dryRun=true')
  t.equal(replaced.status, 400, 'its own group is needed by its own distribution')
  t.notMatch(replaced.text, /shared|veiled/)
  t.match(replaced.text, /mine needs it/)
  const { keys } = await stored()
  const same = keys.map(({ publicKey }: { publicKey: string }) => publicKey)
  t.match(await importing(group('shared', same)), { status: 200, json: { unchanged: [{ name: 'shared' }] } })
})

t.test('a group of distributions that the caller manages is changed, and its key signs', async t => {
  const made = await send('POST', '/keygroups/own/keys', { generate: true, storePrivateKey: false }, editor)
  t.equal(made.status, 201)
  t.ok(sign(null, Buffer.from('x'), createPrivateKey(made.json.privateKey)))
  t.equal((await importing(group('own', [pem()]))).status, 200)
  const read = (await send('GET', '/keygroups/own', undefined, editor)).json
  t.equal((await send('PUT', '/keygroups/own', read, editor)).status, 200)
  t.equal((await send('POST', '/keygroups', { id: 'other' }, editor)).status, 201)
  t.equal((await send('DELETE', '/keygroups/other', undefined, editor)).status, 204)
  t.match(await send('DELETE', '/keygroups/own', undefined, editor), { status: 409, json: { detail: /mine needs it/ } })
})

t.test('and at most a thousand in all, also of those that distributions name', async t => {
  const document = (kind: string, name: string, spec: object) =>
    JSON.stringify({ apiVersion: 'svc/v1', kind, metadata: { name }, spec })
  const key = pem()
  const naming = (number: number) =>
    Array.from({ length: 5 }, (_, part) => {
      const groups = Array.from({ length: 100 }, (_, count) => `all-${number}-${part}-${count}`)
      const behaviors = groups.map(keyGroup => ({
        pathPattern: { type: 'prefix', pattern: `/${keyGroup}/` },
        access: 'signed',
        signing: { keyGroup },
      }))
      const name = `all-${number}-${part}`
      return [
        ...groups.map(id => document('KeyGroup', id, { keys: [{ publicKey: key }] })),
        document('Distribution', name, { aliases: [`${name}.example.test`], origin: { bucket: 'open' }, behaviors }),
      ].join('\n---\n')
    }).join('\n---\n')
  for (const number of [1, 2]) t.equal((await importing(naming(number))).status, 200)
  t.match(await importing(group('one-more', [])), {
    status: 400,
    json: { detail: /1001 key groups, and 1000 are the most/ },
  })
})
