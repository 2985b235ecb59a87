/** Documents of distributions: out, in, the same again, what is refused and where, and who may. */
import { readFileSync } from 'node:fs'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import { referenceTo } from 'svc/plugins/secret-references/api'
import t from 'tap'

t.setTimeout(300_000)
const server = await startAdmin()
t.teardown(() => server.stop())
for (const Bucket of ['pages', 'other']) await server.s3.send(new CreateBucketCommand({ Bucket }))

type Caller = typeof server.signed
const api = (path: string) => `/api/v1${path}`
const send = (text: string, query = '', caller: Caller = server.signed) =>
  caller({
    method: 'POST',
    path: api(`/distributions/import${query}`),
    headers: { 'content-type': 'application/yaml' },
    body: text,
  })
const exported = async (query = '', caller: Caller = server.signed) =>
  (await caller({ path: api(`/distributions/export${query}`) })).text
const put = async (path: string, body: object) => {
  const answer = await server.signed({ method: 'PUT', path: api(path), body })
  t.ok(answer.status < 300, answer.text)
}
const names = (list: { kind: string; name: string }[]) => list.map(({ kind, name }) => `${kind}/${name}`)
const addUser = async (accessKey: string, policy: string) => {
  const body = { accessKey, secretKey: `${accessKey}-secret-key-1` }
  const made = await server.signed({ method: 'POST', path: api('/users'), body })
  t.ok(made.status < 300, made.text)
  const attached = { policyNames: [policy], user: accessKey }
  const answer = await server.signed({ method: 'POST', path: api('/policies/attach'), body: attached })
  t.ok(answer.status < 300, answer.text)
}
const planted = ['planted-origin-secret-4711', 'planted-webhook-token-4712', 'planted-debug-secret-4713']

const site = (name: string, fields = '', alias = `${name}.example.test`) => `apiVersion: svc/v1
kind: Distribution
metadata: { name: ${name} }
spec:
  aliases: [${alias}]
  origin: { bucket: pages }
${fields}`

t.test('what was set by hand is exported without a secret, and the same file changes nothing', async t => {
  await put('/keygroups/films', {})
  const key = await server.signed({
    method: 'POST',
    path: api('/keygroups/films/keys'),
    body: { generate: true, name: 'k' },
  })
  t.match(key.json, { privateKey: /PRIVATE KEY/ }, key.text)
  await put('/distributions/site', {
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'pages' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/films/' }, access: 'signed', signing: { keyGroup: 'films' } },
    ],
    restrictions: { originSecretHeader: { name: 'x-origin', value: planted[0] } },
  })
  const policy = { name: 'short', comment: 'for news', ttl: { default: '5m' } }
  t.equal((await server.signed({ method: 'POST', path: api('/cache/policies'), body: policy })).status, 201)
  await put('/cache/settings', { cache: { policy: 'short' }, debug: { secret: planted[2] } })
  await put('/distributions/site/cache/settings', {
    cache: { ttl: { default: '10m' } },
    webhooks: [{ id: 'edge', type: 'cdn_1', zone: '0a1b', token: planted[1] }],
  })
  const text = await exported()
  for (const secret of [...planted, 'PRIVATE KEY']) t.notMatch(text, secret)
  t.match(text, referenceTo('site-edge-token'))
  t.match(text, '# site-edge-token: SVC_SECRET_SITE_EDGE_TOKEN')
  t.match(text, referenceTo('site-origin-secret'))
  t.match(text, referenceTo('cluster-debug-secret'))
  t.equal(await exported(), text, 'the same state has the same bytes')
  const before = await server.signed({ path: api('/distributions/site') })
  for (const mode of ['merge', 'replace']) {
    const again = await send(text, `?mode=${mode}`)
    t.match(again.json, { created: [], replaced: [], removed: [], changes: [] }, again.text)
    t.same(names(again.json.unchanged).sort(), [
      'CachePolicy/short',
      'CacheSettings/cluster',
      'Distribution/site',
      'DistributionCache/site',
      'KeyGroup/films',
    ])
  }
  t.equal((await server.signed({ path: api('/distributions/site') })).json.etag, before.json.etag)
  t.equal((await server.signed({ path: api('/keygroups/films') })).json.keys[0].hasPrivateKey, true)
})

t.test('a dry run says what differs, field by field, and changes nothing', async t => {
  const text = (await exported())
    .replace('default: 10m', 'default: 20m')
    .replace('www.example.test', 'web.example.test')
  const planned = await send(text, '?dryRun=true')
  t.same(names(planned.json.replaced).sort(), ['Distribution/site', 'DistributionCache/site'])
  t.match(planned.json.changes, [
    { name: 'site', element: '/spec/aliases/0', before: 'www.example.test', after: 'web.example.test' },
    { kind: 'DistributionCache', element: '/spec/cache/ttl/default', before: '10m', after: '20m' },
  ])
  t.match(await exported(), 'www.example.test')
  t.same(planned.json.opened, [], 'another domain shows nothing that was not shown')
  const swapped = await send(text.replace(referenceTo('site-edge-token'), 'another-token-for-it'), '?dryRun=true')
  t.notMatch(swapped.text, 'another-token-for-it')
})

t.test('private keys that go for ever, and keys that come without one, are told', async t => {
  await put('/keygroups/extra', {})
  const body = { generate: true, name: 'signer' }
  const { json: made } = await server.signed({ method: 'POST', path: api('/keygroups/extra/keys'), body })
  const text = await exported()
  const documents = text.split(/^---\n/m)
  const without = documents.filter(one => !one.includes('name: extra')).join('---\n')
  const gone = [`KeyGroup/extra: the private key of signer (${made.id}) goes for ever: no export has it.`]
  for (const query of ['?mode=replace&dryRun=true', '?mode=replace']) {
    const { json } = await send(without, query)
    t.match(json, { removed: [{ kind: 'KeyGroup', name: 'extra' }], warnings: gone })
    t.equal(json.warnings.length, 1)
  }
  const again = await send(text)
  t.match(again.json, {
    created: [{ kind: 'KeyGroup', name: 'extra' }],
    warnings: [
      `KeyGroup/extra: this server has no private key of signer (${made.id}): it can verify signed links, and make none.`,
    ],
  })
  t.same((await send(text)).json.warnings, [], 'nothing changes any more')
  await server.signed({ method: 'DELETE', path: api('/keygroups/extra') })
})

t.test('a dry run names the distributions that everybody will see', async t => {
  const closed = '  defaultBehavior: { access: authenticated }\n'
  const opened = async (text: string, query = '?dryRun=true') => (await send(text, query)).json.opened
  const shown = { name: 'shown', bucket: 'pages', pathPrefix: '', aliases: ['shown.example.test'], mode: 'website' }
  t.same(await opened(site('shown')), [shown])
  t.same(await opened(site('shown', closed)), [])
  t.same(await opened(site('shown', '  enabled: false\n')), [])
  t.same(await opened(site('shown', closed), ''), [])
  t.same(await opened(site('shown')), [shown], 'one that was closed')
  t.same(await opened(site('shown'), ''), [shown])
  t.same(await opened(site('shown')), [], 'and is the same')
  const further = '  restrictions: { sourceIp: { deny: [192.0.2.1] } }\n'
  t.same(await opened(site('shown', further)), [shown], 'others may see it')
  const errorPage = `${closed}  errorPages: [{ status: 403, path: /no.html }]\n`
  t.same(await opened(site('shown', closed), ''), [])
  t.same(await opened(site('shown', errorPage)), [shown], 'whoever is refused sees it')
  const endpoint = '  mode: s3\n'
  t.same(await opened(site('shown', endpoint)), [{ ...shown, mode: 's3' }], 'what the bucket allows')
  t.same(await opened(site('shown', endpoint + closed), ''), [])
  t.same(await opened(site('shown', endpoint)), [{ ...shown, mode: 's3' }])
  t.equal((await server.signed({ method: 'DELETE', path: api('/distributions/shown') })).status, 204)
})

t.test('an import is all or nothing, and documents may name each other', async t => {
  const group = 'apiVersion: svc/v1\nkind: KeyGroup\nmetadata: { name: fresh }\nspec: {}\n'
  const signed = '  defaultBehavior: { access: signed, signing: { keyGroup: fresh } }\n'
  const file = [site('one', signed), site('two'), group].join('---\n')
  const wrong = await send(`${file}---\n${site('three').replace('bucket: pages', 'bucket: nowhere')}`)
  t.equal(wrong.status, 400, wrong.text)
  t.match(wrong.json, {
    code: 'invalid_archive',
    errors: [{ element: 'Distribution/three/spec/origin/bucket', line: 26 }],
  })
  t.equal((await server.signed({ path: api('/distributions/one') })).status, 404)
  const made = await send(file)
  t.same(names(made.json.created), ['KeyGroup/fresh', 'Distribution/one', 'Distribution/two'], made.text)
  const swap = [site('one', signed, 'two.example.test'), site('two', '', 'one.example.test')].join('---\n')
  t.equal((await send(swap)).json.replaced?.length, 2, 'two swap their names at once')
  const gone = await send(site('two', '', 'one.example.test'), '?mode=replace&dryRun=true')
  t.same(names(gone.json.removed), ['Distribution/one', 'Distribution/site'])
  const inUse = await send(group.replace('fresh', 'another'), '?mode=replace')
  t.match(inUse.json.errors, [{ message: /needs? it/ }, {}], inUse.text)
  const all = await send(
    [site('two', '', 'one.example.test'), group.replace('fresh', 'another')].join('---\n'),
    '?mode=replace',
  )
  t.same(
    names(all.json.removed),
    ['KeyGroup/films', 'KeyGroup/fresh', 'Distribution/one', 'Distribution/site'],
    all.text,
  )
  t.notMatch(await exported(), 'DistributionCache', 'the cache of a distribution goes with it')
})

t.test('the documents of the guide are taken', async t => {
  const guide = readFileSync(new URL('../../../docs/operate/git.md', import.meta.url), 'utf8')
  const [, text] = /```yaml\n(apiVersion[\s\S]*?)```/.exec(guide)!
  const planned = await send(text!.replace('www.example.test', 'guide.example.test'), '?dryRun=true')
  t.same(names(planned.json.created), ['Distribution/site', 'DistributionCache/site'], planned.text)
})

t.test('errors name the document, the field, the line', async t => {
  const cases: [string, string, RegExp, number?][] = [
    [
      'an unknown kind',
      site('a').replace('kind: Distribution', 'kind: Site'),
      /document 1\/kind must be one of KeyGroup/,
      2,
    ],
    ['an unknown field', site('a', '  indexDoc: x\n'), /Distribution\/a\/spec\/indexDoc is not a field/, 7],
    ['a wrong type', site('a', '  enabled: 3\n'), /Distribution\/a\/spec\/enabled/, 7],
    ['a missing name', site('a').replace('name: a', 'nam: a'), /metadata\/name is missing/],
    ['another version', site('a').replace('svc/v1', 'svc/v2'), /apiVersion must be svc\/v1/, 1],
    ['the same twice', `${site('a')}---\n${site('a')}`, /Distribution\/a is in the file twice/],
    [
      'two with one name',
      `${site('a')}---\n${site('b', '', 'a.example.test')}`,
      /a\.example\.test is an alias of the distribution/,
    ],
    [
      'a taken name',
      site('a', '', 'one.example.test'),
      /Distribution\/a\/spec\/aliases\/0.*is an alias of the distribution two/,
      5,
    ],
    ['a key twice', site('a', '  mode: website\n  mode: website\n'), /has the key "mode" twice/, 8],
    ['no YAML', 'apiVersion: [', /is no YAML/],
    ['nothing', '# nothing\n', /has no document/],
    [
      'a cache of no distribution',
      'apiVersion: svc/v1\nkind: DistributionCache\nmetadata: { name: nobody }\n',
      /no distribution nobody/,
    ],
    [
      'a policy that is not there',
      'apiVersion: svc/v1\nkind: CacheSettings\nmetadata: { name: cluster }\nspec: { cache: { policy: none } }\n',
      /no cache policy "none"/,
      4,
    ],
    ['a built-in policy', 'apiVersion: svc/v1\nkind: CachePolicy\nmetadata: { name: standard }\n', /built in/],
    [
      'a key of no group',
      'apiVersion: svc/v1\nkind: KeyGroup\nmetadata: { name: k }\nspec: { keys: [ { publicKey: "x" } ] }\n',
      /KeyGroup\/k\/spec\/keys\/0\/publicKey/,
      4,
    ],
  ]
  for (const [name, text, message, line] of cases) {
    const { status, json } = await send(text)
    t.equal(status, 400, name)
    const [first] = json.errors ?? [{}]
    t.match(`${first.element} ${first.message}`, message, `${name}: ${JSON.stringify(json)}`)
    if (line !== undefined) t.equal(first.line, line, name)
  }
  const many = await send([site('a', '  x: 1\n'), site('b', '  y: 1\n  z: 1\n')].join('---\n'))
  t.equal(many.json.errors.length, 3, 'all problems at once')
})

t.test('JSON is taken, one document or a list of them', async t => {
  const document = (name: string) => ({
    apiVersion: 'svc/v1',
    kind: 'Distribution',
    metadata: { name },
    spec: { aliases: [`${name}.example.test`], origin: { bucket: 'pages' } },
  })
  const sendJson = (body: unknown) => server.signed({ method: 'POST', path: api('/distributions/import'), body })
  t.same(names((await sendJson(document('j1'))).json.created), ['Distribution/j1'])
  t.same(names((await sendJson([document('j1'), document('j2')])).json.created), ['Distribution/j2'])
})

t.test('hostile text is refused, and costs little', async t => {
  const laughs = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((name, index) => {
      const before = 'abcdefgh'[index]
      return `${name}: &${name} [${Array(10).fill(`*${before}`).join(',')}]`
    }),
  ].join('\n')
  const cases: [string, string][] = [
    ['billion laughs', laughs],
    ['many aliases', `a: &a x\nb: [${Array(200).fill('*a').join(', ')}]`],
    [
      'a large alias a few times',
      `a: &a [${Array(100_000).fill('1').join(',')}]\nb: [${Array(90).fill('*a').join(',')}]`,
    ],
    ['brackets', '['.repeat(500_000)],
    ['closed brackets', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['nested lists', '- '.repeat(400_000)],
    ['nested maps', Array.from({ length: 1000 }, (_, index) => `${' '.repeat(index)}a:`).join('\n')],
    ['many keys', Array.from({ length: 90_000 }, (_, index) => `k${index}: 1`).join('\n')],
    ['10 000 documents', Array(10_000).fill('kind: Distribution\n').join('---\n')],
    ['a prototype', '__proto__: { polluted: 1 }'],
    ['a tag', 'a: !!js/function "x"'],
  ]
  for (const [name, text] of cases) {
    const started = process.cpuUsage()
    const { status, text: answer } = await send(text)
    const { user } = process.cpuUsage(started)
    t.equal(status, 400, `${name}: ${answer.slice(0, 300)}`)
    t.comment(`${name}: ${Math.round(user / 1000)} ms`)
  }
  t.equal((await send('x'.repeat(1024 * 1024 + 1))).status, 413)
  t.equal(({} as { polluted?: number }).polluted, undefined)
})

t.test('of text with very many errors the first is told, and no more are collected', async t => {
  const { status, json } = await send(`kind: x\n---\n[${','.repeat(15_000)}`)
  t.equal(status, 400)
  t.match(json.errors, [{ line: 3, column: 3, message: /Unexpected , .*the first of more than 100 errors/ }])
  t.equal(json.errors.length, 1)
})

t.test('several hundred at once, again, and two imports at the same time', async t => {
  const many = Array.from({ length: 400 }, (_, index) => site(`n${index}`)).join('---\n')
  const started = performance.now()
  t.equal((await send(many)).json.created.length, 400)
  t.comment(`400 distributions: ${Math.round(performance.now() - started)} ms`)
  t.equal((await send(many)).json.unchanged.length, 400)
  const both = await Promise.all(['x', 'y'].map(name => send(site('race', `  comment: ${name}\n`))))
  t.same(
    both.map(({ status, json }) => `${status} ${json.created.length + json.replaced.length}`),
    ['200 1', '200 1'],
    'one creates it, the other one replaces it',
  )
  const emptied = await send(site('two', '', 'one.example.test'), '?mode=replace')
  t.ok(emptied.json.removed.length >= 401, emptied.text)
})

t.test('a reference is kept, stored and resolved; what is not set opens nothing', async t => {
  const fields = (value: string) => `  restrictions: { originSecretHeader: { name: x-origin, values: ["${value}"] } }\n`
  t.equal((await send(site('ref', fields(referenceTo('not-set-anywhere'))))).status, 200)
  t.match(await exported('?id=ref'), referenceTo('not-set-anywhere'))
  const { service } = { service: server.kernel.services.distributions }
  t.match(service.document((await service.get('ref'))!).restrictions, {
    originSecretHeader: { values: [referenceTo('not-set-anywhere')] },
  })
  const test = async (value: string) => {
    const body = { url: '/', headers: { 'X-Origin': value } }
    return (await server.signed({ method: 'POST', path: api('/distributions/ref/test'), body })).json.restriction
  }
  for (const value of [referenceTo('not-set-anywhere'), '', 'undefined']) t.match(await test(value), { allowed: false })
  process.env.SVC_SECRET_NOT_SET_ANYWHERE = 'short'
  t.match(await test('short'), { allowed: false }, 'too short a secret')
  process.env.SVC_SECRET_NOT_SET_ANYWHERE = 'long-enough-for-a-secret'
  t.teardown(() => delete process.env.SVC_SECRET_NOT_SET_ANYWHERE)
  t.match(await test('long-enough-for-a-secret'), { allowed: true })
})

t.test('a caller sees and changes what it may manage, and nothing else', async t => {
  await server.signed({
    method: 'PUT',
    path: api('/distributions/foreign'),
    body: { id: 'foreign', aliases: ['f.example.test'], origin: { bucket: 'other' } },
  })
  const statement = (Action: string[], Resource: string[]) => ({ Effect: 'Allow', Action, Resource })
  const document = {
    Version: '2012-10-17',
    Statement: [
      statement(['admin:ManageDistributions'], ['arn:aws:s3:::*']),
      {
        Effect: 'Deny',
        Action: ['admin:ManageDistributions'],
        Resource: ['arn:aws:s3:::other', 'arn:aws:s3:::other/*'],
      },
    ],
  }
  await put('/policies/own', { document })
  await addUser('ada', 'own')
  const ada = server.signedBy('ada', 'ada-secret-key-1')
  const text = await exported('', ada)
  t.match(text, 'name: two')
  t.notMatch(text, 'foreign')
  t.notMatch(text, 'CacheSettings')
  t.match((await send(text, '?mode=replace', ada)).json, { removed: [], created: [] }, 'nothing of others is removed')
  const taken = await send(site('foreign', '', 'mine.example.test'), '', ada)
  t.equal(taken.status, 403, taken.text)
  const cached = 'apiVersion: svc/v1\nkind: CachePolicy\nmetadata: { name: hers }\n'
  t.match((await send(cached, '', ada)).json, {
    code: 'access_denied',
    detail: /CachePolicy\/hers: you need admin:ManageCache/,
  })
  const readOnly = { Version: '2012-10-17', Statement: [statement(['s3:GetObject'], ['arn:aws:s3:::pages/*'])] }
  await put('/policies/reader', { document: readOnly })
  await addUser('bob', 'reader')
  const bob = server.signedBy('bob', 'bob-secret-key-1')
  t.equal((await bob({ path: api('/distributions/export') })).status, 403)
  t.equal((await send(site('hers'), '', bob)).status, 403)
  t.equal((await send('[,', '', bob)).status, 403, 'before the text is read')
})
