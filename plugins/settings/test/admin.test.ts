/** The operations under /config, over the wire: shapes, permissions, every named error, masks, exports and imports. */
import { readFileSync } from 'node:fs'
import { definePlugin } from 'svc/kernel'
import { responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { maskedValue } from '../api.ts'
import { formatSettings, parseSettings } from '../text-format.ts'

const used = new Set<string>()
const probe = definePlugin({
  name: 'probe',
  requires: ['settings'],
  setup({ services }) {
    services.settings.declare('probe', {
      description: 'What a test sends somewhere.',
      isMultiple: true,
      keys: Type.Object({
        enable: Type.Boolean({ default: false, description: 'Whether.' }),
        endpoint: Type.String({ default: '', description: 'Where.' }),
        token: Type.String({ default: '', secret: true, description: 'As whom.' }),
        queue_dir: Type.String({ default: '', description: 'Kept where.' }),
      }),
      notApplied: ['queue_dir'],
      validate: ({ enable, endpoint }) =>
        enable && endpoint === '' ? [{ key: 'endpoint', problem: 'must be set where it is enabled' }] : [],
      removalProblem: id => (used.has(id) ? `A bucket still sends to ${id}.` : undefined),
    })
    const pattern = { pattern: '^[a-z]+$', errorMessage: 'must be lower-case letters' }
    services.settings.declare('pigment', {
      description: 'What a test paints with.',
      keys: Type.Object({ color: Type.String({ default: 'red', ...pattern, description: 'For people.' }) }),
    })
  },
})
const allow = (...actions: string[]) => [{ Effect: 'Allow', Action: actions }]
const server = await startAdmin({
  without: ['users'],
  plugins: [
    probe,
    testUsers({
      reader: allow('admin:GetConfig'),
      writer: allow('admin:ConfigUpdate'),
      archivist: allow('admin:GetConfig', 'admin:ExportCluster'),
      nobody: allow('admin:ServerInfo'),
    }),
  ],
})
t.teardown(() => server.stop())
const { signed } = server
const config = '/api/v1/config'
const secret = 'token-that-nobody-may-see'

const check = (t: Test, id: string, json: unknown) => {
  const operation = server.operations.find(operation => operation.id === id)!
  t.same(responseProblems(operation, json), [], `the answer of ${id} is what is declared`)
}
const patch = (name: string, settings: Record<string, string | null>) =>
  signed({ method: 'PATCH', path: `${config}/${name}`, body: { settings } })

t.test('a subsystem is set, read, listed and reset', async t => {
  const whole = await signed({ path: config })
  t.equal(whole.status, 200)
  check(t, 'getConfig', whole.json)
  t.notOk('probe' in whole.json, 'of what may exist several times only what does')
  const unset = await signed({ path: `${config}/probe` })
  check(t, 'getConfigSubsystem', unset.json)
  const defaults = { enable: 'off', endpoint: '', token: '', queue_dir: '' }
  t.same(unset.json, { name: 'probe', settings: defaults }, 'in the schema, and never set')
  t.equal((await signed({ path: `${config}/probe:one` })).json.code, 'subsystem_not_found')

  const changed = await patch('probe:one', { enable: 'on', endpoint: 'http://a.test', token: secret, queue_dir: 'q' })
  t.equal(changed.status, 200, changed.text)
  check(t, 'updateConfigSubsystem', changed.json)
  const settings = { enable: 'on', endpoint: 'http://a.test', token: maskedValue, queue_dir: 'q' }
  t.same(changed.json, { name: 'probe:one', settings, notApplied: ['queue_dir'] })
  const one = await signed({ path: `${config}/probe:one` })
  check(t, 'getConfigSubsystem', one.json)
  t.same(one.json, { name: 'probe:one', settings })
  t.same((await signed({ path: `${config}/probe%3Aone` })).json, one.json)
  t.same((await patch('probe:one', { token: maskedValue, endpoint: 'http://b.test' })).json.notApplied, [])
  t.same((await signed({ path: config })).json['probe:one'], { ...settings, endpoint: 'http://b.test' })

  const reset = await signed({ method: 'DELETE', path: `${config}/probe:one?keys=queue_dir,enable` })
  t.equal(reset.status, 204)
  t.match((await signed({ path: `${config}/probe:one` })).json.settings, { queue_dir: '', enable: 'off' })
  used.add('one')
  const refused = await signed({ method: 'DELETE', path: `${config}/probe:one` })
  t.match(refused, { status: 409, json: { code: 'conflict', detail: 'A bucket still sends to one.' } })
  t.equal((await signed({ method: 'PUT', path: config, body: {} })).json.code, 'conflict')
  used.clear()
  t.equal((await signed({ method: 'DELETE', path: `${config}/probe:one` })).status, 204)
  t.equal((await signed({ method: 'DELETE', path: `${config}/probe:one` })).json.code, 'subsystem_not_found')
})

t.test('callers without the action are refused, and the right to write includes the right to read', async t => {
  const reads = ['', '/schema', '/logger'].map(path => ({ method: 'GET', path: config + path }))
  const writes = [
    { method: 'PUT', path: config, body: {} },
    { method: 'PATCH', path: `${config}/logger`, body: { settings: {} } },
    { method: 'DELETE', path: `${config}/logger` },
    { method: 'POST', path: `${config}/import?dryRun=true`, body: {} },
  ]
  const exports = [{ method: 'GET', path: `${config}/export` }]
  const withSecrets = [{ method: 'GET', path: `${config}/export?includeSecrets=true` }]
  const callers: readonly (readonly [string, readonly (readonly { method: string; path: string }[])[]])[] = [
    ['reader', [reads, exports]],
    ['writer', [reads, writes]],
    ['archivist', [reads, exports, withSecrets]],
    ['nobody', []],
  ]
  for (const [name, allowed] of callers) {
    const call = server.signedBy(name, userSecret)
    for (const group of [reads, writes, exports, withSecrets]) {
      for (const request of group) {
        const { status } = await call(request)
        const isAllowed = allowed.includes(group)
        t.equal(status === 200 || status === 204, isAllowed, `${name} ${request.method} ${request.path}: ${status}`)
        if (!isAllowed) t.equal(status, 403)
      }
    }
  }
  for (const request of [...reads, ...writes, ...exports]) t.equal((await server.anonymous(request)).status, 401)
})

t.test('problems are reported by subsystem and key, nothing is stored, and no secret is repeated', async t => {
  await patch('probe:one', { endpoint: 'http://a.test', token: secret })
  const before = (await signed({ path: `${config}/export` })).text
  const body = { probe: { enable: 'maybe', shape: 'x' }, 'probe:one': { token: secret }, other: {}, schema: {} }
  for (const [method, path] of [
    ['PUT', config],
    ['POST', `${config}/import`],
    ['POST', `${config}/import?mode=replace&dryRun=true`],
  ] as const) {
    const { status, json, text } = await signed({ method, path, body })
    t.equal(status, 400)
    t.equal(json.code, 'invalid_argument')
    t.same(
      json.errors.map(({ element }: { element: string }) => element),
      ['probe.enable', 'probe.shape', 'other', 'schema'],
    )
    t.match(json.detail, /^probe\.enable must be on or off/)
    t.notOk(text.includes(secret))
  }
  const wrong = await patch('probe:one', { enable: 'on', endpoint: '' })
  t.match(wrong.json, { code: 'invalid_argument', errors: [{ element: 'probe:one.endpoint' }] })
  const { json: unmatched } = await patch('pigment', { color: 'Light red' })
  t.match(unmatched.detail, /^pigment\.color must be lower-case letters, not "Light red"/)
  t.notMatch(JSON.stringify(unmatched), 'pattern', 'what is wanted is told in words')
  for (const wrongBody of [{}, { settings: { enable: true } }, { settings: {}, more: 1 }, [], { settings: 'x' }]) {
    const path = `${config}/probe:one`
    t.equal(
      (await signed({ method: 'PATCH', path, body: wrongBody })).json.code,
      'invalid_argument',
      JSON.stringify(wrongBody),
    )
  }
  for (const wrongBody of [[], { logger: 'x' }, { logger: { level: 1 } }, { logger: null }]) {
    const { json } = await signed({ method: 'PUT', path: config, body: wrongBody })
    t.equal(json.code, 'invalid_argument', JSON.stringify(wrongBody))
  }
  t.equal((await patch('import', {})).json.code, 'invalid_argument')
  t.equal((await patch('nothing', {})).json.code, 'subsystem_not_found')
  t.equal((await signed({ method: 'DELETE', path: `${config}/probe:one?keys=other` })).json.code, 'invalid_argument')
  t.equal((await signed({ path: `${config}/export` })).text, before)
})

t.test('an export can be imported again, as JSON and as text, with secrets and without', async t => {
  const odd = 'a "quoted" # value\nof two lines \\ '
  await patch('probe:one', { endpoint: odd, token: secret, enable: 'on' })
  await patch('probe', { enable: 'off', queue_dir: '#x', endpoint: 'x#y=z' })
  await patch('probe:empty', {})
  for (const format of ['json', 'text']) {
    const type = format === 'json' ? 'application/json' : 'text/plain'
    const full = await signed({ path: `${config}/export?format=${format}&includeSecrets=true` })
    const masked = await signed({ path: `${config}/export?format=${format}` })
    t.equal(full.headers['content-type'], `${type}; charset=utf-8`)
    t.match(full.headers['content-disposition'], /^attachment; filename="config\.(json|txt)"$/)
    t.equal(full.headers['cache-control'], 'no-store')
    t.ok(full.text.includes(secret))
    t.notOk(masked.text.includes(secret))
    const send = (text: string, query = '', contentType = type) =>
      signed({ method: 'POST', path: `${config}/import${query}`, body: text, headers: { 'content-type': contentType } })

    await patch('probe:extra', {})
    const dry = await send(masked.text, '?mode=replace&dryRun=true')
    t.equal(dry.status, 200, dry.text)
    check(t, 'importConfig', dry.json)
    t.match(dry.json, { mode: 'replace', dryRun: true, configSubsystems: 3, removed: ['probe:extra'], users: 0 })
    t.equal((await signed({ path: `${config}/probe:extra` })).status, 200)
    t.match((await send(masked.text, '?mode=replace')).json, { dryRun: false, removed: ['probe:extra'] })
    t.equal((await signed({ path: `${config}/export?format=${format}&includeSecrets=true` })).text, full.text)

    t.equal((await signed({ method: 'PUT', path: config, body: {} })).status, 200)
    const lost = await send(masked.text)
    t.match(lost.json, { code: 'invalid_argument', errors: [{ element: 'probe:one.token' }] })
    t.same((await send(full.text)).json.configSubsystems, 3)
    t.equal((await signed({ path: `${config}/export?format=${format}&includeSecrets=true` })).text, full.text)
    t.equal((await signed({ path: `${config}/probe:one` })).json.settings.endpoint, odd)
    t.equal((await send(full.text, '', 'application/yaml')).json.code, 'unsupported_media_type')
  }
  const whole = (await signed({ path: config })).json
  const put = await signed({ method: 'PUT', path: config, body: whole })
  check(t, 'replaceConfig', put.json)
  t.same(put.json, whole, 'what was read can be sent back')
  const large = `probe endpoint="${'x'.repeat(1_048_576)}"`
  const tooLarge = { method: 'POST', path: `${config}/import`, body: large, headers: { 'content-type': 'text/plain' } }
  t.equal((await signed(tooLarge)).status, 413)
})

t.test('a configuration that was changed since it was read is not replaced', async t => {
  await patch('probe:one', { endpoint: 'http://a.test', token: 'first' })
  const etagOf = async () => (await signed({ path: config })).headers.etag as string
  const put = (ifMatch: string, body: object) =>
    signed({ method: 'PUT', path: config, body, headers: { 'if-match': ifMatch } })
  const whole = (await signed({ path: config })).json
  const seen = await etagOf()
  t.match(seen, /^"[0-9a-f]{32}"$/)
  const edited = { ...whole, 'probe:one': { ...whole['probe:one'], endpoint: 'http://b.test' } }
  for (const change of [
    () => patch('probe:one', { token: 'second' }),
    () => patch('probe:two', { endpoint: 'http://other.test' }),
    () => signed({ method: 'DELETE', path: `${config}/probe:one` }),
  ]) {
    const before = await etagOf()
    await change()
    const refused = await put(before, edited)
    t.match(refused, { status: 412, json: { code: 'precondition_failed' } })
    t.not(await etagOf(), before)
  }
  t.same((await signed({ path: config })).json['probe:two'].endpoint, 'http://other.test', 'nothing was stored')
  t.equal((await put(await etagOf(), {})).status, 200)
  const empty = await etagOf()
  const stored = await put(empty.slice(1, -1), { 'probe:one': { endpoint: 'http://c.test' } })
  t.match(stored, { status: 200, headers: { etag: await etagOf() } }, 'also without quotes')
  t.equal((await put(empty, {})).status, 412)
  t.equal((await put('*', {})).status, 200)
  t.equal(await etagOf(), empty, 'what is the same has the same')
})

t.test('of a document with too many problems, the first are reported', async t => {
  const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key${i}`, 'x']))
  const unknown = Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`probe${i}`, {}]))
  for (const body of [{ probe: keys }, unknown, { probe: keys, ...unknown }]) {
    const { status, json } = await signed({ method: 'PUT', path: config, body })
    t.equal(status, 400)
    t.equal(json.errors.length, 100)
  }
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`probe:${i}`, { enable: 'maybe' }]))
  const { json } = await signed({ method: 'POST', path: `${config}/import`, body: many })
  t.same(json.errors, [{ element: 'configuration', message: 'has more than 1000 subsystems' }], 'and none is looked at')
})

t.test('invalid lines are reported by their number', async t => {
  const text =
    'logger level=info\n\n# a comment\n=x\nlogger level\nlogger format="js\nlogger a="b"c\nlogger level=warn\nlogger b=c"d\n'
  const wrong = { method: 'POST', path: `${config}/import`, body: text, headers: { 'content-type': 'text/plain' } }
  const { json } = await signed(wrong)
  t.same(
    json.errors.map(({ element, message }: Record<string, string>) => `${element} ${message}`),
    [
      'line 4 must begin with the name of a subsystem',
      'line 5 must have keys of the form key=value',
      'line 6 has a value of format with a quote that does not end',
      'line 7 has a value of a that must be in quotes as a whole',
      'line 8 sets level of logger again',
      'line 9 has a value of b that must be in quotes as a whole',
    ],
  )
  t.same(parseSettings(' a  b=1 c="2 3" # d=4\r\na e=\nf\n'), {
    map: { a: { b: '1', c: '2 3', e: '' }, f: {} },
    problems: [],
  })
  const values = [
    '',
    ' ',
    '#',
    'a#b',
    '"',
    '\\',
    'ä€𝒳',
    '\u0000',
    '\u2028',
    '=',
    'a=b',
    "it's",
    '\ud800',
    'a\tb',
    '\u007f',
    'a\u0085b',
  ]
  for (const [i, value] of values.entries()) {
    const map = { name: { key: value, other: 'x' } }
    t.same(parseSettings(formatSettings(map)), { map, problems: [] }, `value ${i}`)
  }
})

t.test('the schema describes every key', async t => {
  const { json } = await signed({ path: `${config}/schema` })
  check(t, 'getConfigSchema', json)
  const described = json.find(({ name }: { name: string }) => name === 'probe')
  t.same(described.keys.at(2), {
    name: 'token',
    type: 'string',
    description: 'As whom.',
    default: '',
    values: [],
    sensitive: true,
    applied: true,
  })
  t.match(described, {
    multiple: true,
    keys: [{ type: 'boolean', default: 'off', values: ['on', 'off'] }, {}, {}, { applied: false }],
  })
})

t.test('the README has all keys of all subsystems but those of targets and of this test', async t => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const rows = [...readme.matchAll(/^\| `(\w+)` \| (.*?) \| .* \|$/gm)].filter(([, , keys]) => keys!.startsWith('`'))
  const documented = rows.map(([, name, keys]) => [name, [...keys!.matchAll(/`([a-z]\w*)`/g)].map(([, key]) => key)])
  const { json } = await signed({ path: `${config}/schema` })
  const declared = json
    .filter(({ name }: { name: string }) => !/^(notify|audit)_|^probe$|^pigment$/.test(name))
    .map(({ name, keys }: { name: string; keys: { name: string }[] }) => [
      name,
      keys.map(key => key.name).filter(key => !key.endsWith('_burst')),
    ])
  t.same(Object.fromEntries(documented), Object.fromEntries(declared))
})
