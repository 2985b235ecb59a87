/** Which rule decides: priorities, callers, patterns, conditions. */
import t from 'tap'
import { ada, bob, compile, decide, facts, rule } from './rules.ts'

t.test('the lowest priority that matches decides, and of several with the same one a deny', async t => {
  const allow = rule({ id: 'allow', priority: 10 })
  const deny = rule({ id: 'deny', priority: 10, effect: 'deny' })
  t.equal(decide(compile(allow, deny)), 'deny deny')
  t.equal(decide(compile(deny, allow)), 'deny deny')
  t.equal(decide(compile({ ...allow, priority: 9 }, deny)), 'allow allow')
  t.equal(decide(compile({ ...allow, priority: 11 }, deny)), 'deny deny')
  t.equal(decide(compile({ ...allow, priority: -5 }, { ...deny, priority: 0 })), 'allow allow')
  t.equal(decide(compile()), 'none')
})

t.test('callers match as everybody, as users with their access keys, and by groups', async t => {
  const named = compile(rule({ principals: ['user:ada', 'group:ops'] }))
  t.equal(decide(named), 'none')
  t.equal(decide(named, { identity: ada }), 'allow r')
  t.equal(decide(named, { identity: bob }), 'none')
  t.equal(decide(named, { identity: { ...bob, userName: 'ada' } }), 'allow r', 'an access key is its user')
  t.equal(decide(named, { identity: { ...bob, groups: ['ops'] } }), 'allow r')
  t.equal(decide(compile(rule({ principals: ['arn:aws:iam:::group/staff'] })), { identity: ada }), 'allow r')
  t.equal(decide(compile(rule({ principals: ['ada'] })), { identity: { ...bob, groups: ['ada'] } }), 'none')
})

t.test('blocked public access takes the star of an allow away, and nothing else', async t => {
  const set = compile(rule({ principals: ['*', 'ada'] }), rule({ id: 'deny', priority: 200, effect: 'deny' }))
  t.equal(decide(set), 'allow r')
  t.equal(decide(set, { isPublicBlocked: true }), 'deny deny')
  t.equal(decide(set, { isPublicBlocked: true, identity: ada }), 'allow r')
})

t.test('actions by class and by name', async t => {
  const set = compile(rule({ actions: ['write', 's3:GetObjectTagging', 's3:ListBucket*'] }))
  for (const action of [
    's3:PutObject',
    's3:AbortMultipartUpload',
    's3:ListMultipartUploadParts',
    's3:GetObjectTagging',
  ]) {
    t.equal(decide(set, { action }), 'allow r', action)
  }
  for (const action of ['s3:GetObject', 's3:DeleteObject', 's3:PutObjectTagging', 's3:PutObjectAcl']) {
    t.equal(decide(set, { action }), 'none', action)
  }
  for (const action of ['s3:ListBucket', 's3:ListBucketVersions', 's3:ListBucketMultipartUploads']) {
    t.equal(decide(set, { action, prefix: '' }), 'allow r', action)
  }
})

const matching = (match: object) => compile({ ...rule(), match })

t.test('patterns', async t => {
  const cases: readonly (readonly [match: object, yes: readonly string[], no: readonly string[]])[] = [
    [{ type: 'prefix', pattern: 'a/' }, ['a/', 'a/b/c'], ['a', 'A/', 'b/a/']],
    [{ type: 'prefix', pattern: '' }, ['a', ''], []],
    [{ type: 'prefix', pattern: 'ΟΔΟΣ', caseInsensitive: true }, ['οδοσα', 'οδος', 'ΟΔΟΣΑ'], ['οδο']],
    [{ type: 'prefix', pattern: 'straße', caseInsensitive: true }, ['STRAẞE/1'], ['strasse']],
    [{ type: 'prefix', pattern: 'kelvin', caseInsensitive: true }, ['\u212aelvin', 'KELVIN'], []],
    [
      { type: 'glob', pattern: 'docs/*.pdf' },
      ['docs/a.pdf', 'docs/.pdf'],
      ['docs/a/b.pdf', 'docs/a.pdfx', 'xdocs/a.pdf'],
    ],
    [{ type: 'glob', pattern: 'docs/**' }, ['docs/', 'docs/a/b'], ['docs', 'a/docs/b']],
    [{ type: 'glob', pattern: '**/x' }, ['a/x', 'a/b/x', '/x'], ['x', 'a/xx']],
    [{ type: 'glob', pattern: 'a?c' }, ['abc', 'a😀c', 'aéc'], ['a/c', 'ac', 'abbc']],
    [{ type: 'glob', pattern: '*.{jpg,png}' }, ['a.jpg', 'b.png'], ['a.gif', 'a/b.jpg', 'a.{jpg,png}']],
    [{ type: 'glob', pattern: '{a,b}/{c,}' }, ['a/c', 'b/'], ['a/d', 'c/c']],
    [{ type: 'glob', pattern: 'a\\*b\\{' }, ['a*b{'], ['axb{', 'a*b']],
    [{ type: 'glob', pattern: 'A*Z', caseInsensitive: true }, ['abcz', 'AZ'], ['a/z']],
    [
      { type: 'glob', pattern: `${'x'.repeat(40)}*${'y'.repeat(40)}` },
      [`${'x'.repeat(41)}${'y'.repeat(42)}`],
      ['x', 'y'],
    ],
    [{ type: 'glob', pattern: '**' }, ['', 'a/b'], []],
    [{ type: 'regex', pattern: 'b' }, ['abc', 'b'], ['a', 'B']],
    [{ type: 'regex', pattern: '^b$', caseInsensitive: true }, ['B', 'b'], ['bb', 'ab']],
    [{ type: 'regex', pattern: '^é$' }, ['é'], ['e']],
    [{ type: 'regex', pattern: '^e\u0301$' }, ['é'], ['e']],
    [{ type: 'prefix', pattern: 'e\u0301' }, ['é/a'], ['e/a']],
  ]
  for (const [match, yes, no] of cases) {
    const set = matching(match)
    for (const key of yes) t.equal(decide(set, { key }), 'allow r', `${JSON.stringify(match)} matches ${key}`)
    for (const key of no) t.equal(decide(set, { key }), 'none', `${JSON.stringify(match)} does not match ${key}`)
  }
})

t.test('a listing is matched by the prefix that it asks for', async t => {
  const set = compile({ ...rule({ actions: ['list'] }), match: { type: 'prefix', pattern: 'public/' } })
  t.equal(decide(set, { prefix: 'public/' }), 'allow r')
  t.equal(decide(set, { prefix: 'public/2026/' }), 'allow r')
  t.equal(decide(set, { prefix: 'pub' }), 'none')
  t.equal(decide(set, { prefix: '' }), 'none')
})

t.test('keys that are longer than any key: no right, and every deny', async t => {
  const key = `public/${'x'.repeat(64 * 1024)}`
  t.equal(decide(compile(rule()), { key }), 'none')
  const denies = ['prefix', 'glob', 'regex'].map(type =>
    compile({ ...rule({ effect: 'deny' }), match: { type, pattern: 'elsewhere' } }),
  )
  for (const set of denies) t.equal(decide(set, { key }), 'deny r')
})

const when = (conditions: object) => compile({ ...rule(), conditions })

t.test('conditions', async t => {
  const cases: readonly (readonly [conditions: object, yes: readonly object[], no: readonly object[]])[] = [
    [
      { sourceIp: ['192.0.2.0/24', '2001:db8::/32'] },
      [{}, { sourceAddress: '2001:db8::1' }],
      [{ sourceAddress: '192.0.3.1' }],
    ],
    [{ sourceIp: ['192.0.2.7'] }, [{ sourceAddress: '::ffff:192.0.2.7' }], [{ sourceAddress: 'unknown' }]],
    [{ notSourceIp: ['10.0.0.0/8'] }, [{}], [{ sourceAddress: '10.1.1.1' }, { sourceAddress: 'unknown' }]],
    [{ secureTransport: true }, [{ secure: true }], [{}]],
    [{ secureTransport: false }, [{}], [{ secure: true }]],
    [{ methods: ['GET', 'HEAD'] }, [{}, { method: 'HEAD' }], [{ method: 'PUT' }, { method: undefined }]],
    [
      { host: ['files.example.org'] },
      [{}, { host: 'FILES.example.org' }],
      [{ host: 'example.org' }, { host: undefined }],
    ],
    [{ host: ['files.example.org:9000'] }, [{}], [{ host: 'files.example.org' }]],
    [
      { host: ['*.example.org'] },
      [{}, { host: 'a.b.example.org' }],
      [{ host: 'example.org' }, { host: 'xexample.org' }],
    ],
    [
      { referer: ['https://example.org/*', 'https://*.example.net/*'] },
      [{ headers: { referer: 'https://EXAMPLE.org/a/b' } }, { headers: { referer: 'https://a.example.net/' } }],
      [{}, { headers: { referer: 'http://example.org/' } }, { headers: { referer: 'x'.repeat(5000) } }],
    ],
    [
      { headers: { 'X-Tenant': 'a*', 'x-mode': '*' } },
      [{ headers: { 'x-tenant': 'abc', 'x-mode': '' } }],
      [{ headers: { 'x-tenant': 'abc' } }, { headers: { 'x-tenant': 'b', 'x-mode': 'y' } }, {}],
    ],
    [{ timeWindow: { from: '2026-06-01T12:00:00Z' } }, [{}], [{ timeMs: facts.timeMs - 1 }]],
    [{ timeWindow: { to: '2026-06-01T12:00:00Z' } }, [{ timeMs: facts.timeMs - 1 }], [{}]],
    [
      { timeWindow: { from: '2026-06-01T14:00:00+02:00', to: '2026-06-01T12:00:01Z' } },
      [{}],
      [{ timeMs: facts.timeMs + 1000 }],
    ],
    [{ secureTransport: false, methods: ['GET'] }, [{}], [{ method: 'PUT' }, { secure: true }]],
  ]
  for (const [conditions, yes, no] of cases) {
    const set = when(conditions)
    for (const given of yes) t.equal(decide(set, { facts: given }), 'allow r', JSON.stringify([conditions, given]))
    for (const given of no)
      t.equal(decide(set, { facts: given }), 'none', JSON.stringify([conditions, given]).slice(0, 200))
  }
})

t.test('an unknown value makes no allow match, and every deny', async t => {
  const unknown = [
    [{ sourceIp: ['10.0.0.0/8'] }, { sourceAddress: 'unknown' }],
    [{ notSourceIp: ['10.0.0.0/8'] }, { sourceAddress: 'unknown' }],
    [{ host: ['a.example.org'] }, { host: undefined }],
    [{ methods: ['PUT'] }, { method: undefined }],
    [{ referer: ['https://a/*'] }, { headers: { referer: 'x'.repeat(5000) } }],
    [{ headers: { 'x-a': 'b' } }, { headers: { 'x-a': 'x'.repeat(5000) } }],
  ] as const
  for (const [conditions, given] of unknown) {
    t.equal(decide(when(conditions), { facts: given }), 'none', Object.keys(conditions)[0])
    const denying = compile({ ...rule({ effect: 'deny' }), conditions })
    t.equal(decide(denying, { facts: given }), 'deny r', Object.keys(conditions)[0])
  }
})

t.test('captures equal a text or a property of the caller', async t => {
  const own = compile({
    ...rule(),
    match: { type: 'regex', pattern: '^home/(?P<who>[^/]+)/' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a property of the caller
    conditions: { captureEquals: { who: '${aws:username}' } },
  })
  t.equal(decide(own, { key: 'home/ada/x', identity: ada }), 'allow r')
  t.equal(decide(own, { key: 'home/ada/x', identity: bob }), 'none')
  t.equal(decide(own, { key: 'home/ada/x' }), 'none')
  const team = compile({
    ...rule(),
    match: { type: 'regex', pattern: '^(?P<kind>team|all)/(?P<group>\\w+)?' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a property of the caller
    conditions: { captureEquals: { kind: 'team', group: '${aws:groups}' } },
  })
  t.equal(decide(team, { key: 'team/staff', identity: ada }), 'allow r')
  t.equal(decide(team, { key: 'all/staff', identity: ada }), 'none')
  t.equal(decide(team, { key: 'team/', identity: ada }), 'none', 'a group that took no part')
  const signedIn = { ...ada, claims: { 'jwt:name': ['Ze\u0301', 'x'] } }
  const named = (effect: 'allow' | 'deny') =>
    compile({
      ...rule({ effect }),
      match: { type: 'regex', pattern: '^home/(?P<who>\\pL+)/' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a property of the caller
      conditions: { captureEquals: { who: '${jwt:name}' } },
    })
  t.equal(
    decide(named('allow'), { key: 'home/Z\u00e9/x', identity: signedIn }),
    'allow r',
    'in another form of Unicode',
  )
  t.equal(decide(named('deny'), { key: 'home/Z\u00e9/x', identity: signedIn }), 'deny r')
  t.equal(decide(named('allow'), { key: 'home/Z\u00e9\u0301/x', identity: signedIn }), 'none', 'one accent more')
  t.equal(decide(named('allow'), { key: 'home/z\u00e9/x', identity: signedIn }), 'none', 'in another case')
})

t.test('a time window is one of instants, whatever the clocks on walls do', async t => {
  // The hour that clocks in Berlin show twice.
  const window = { from: '2026-10-25T02:30:00+02:00', to: '2026-10-25T02:30:00+01:00' }
  const set = compile({ ...rule(), conditions: { timeWindow: window } })
  const at = (time: string) => decide(set, { facts: { timeMs: Date.parse(time) } })
  t.equal(at('2026-10-25T00:29:59.999Z'), 'none')
  t.equal(at('2026-10-25T00:30:00Z'), 'allow r')
  t.equal(at('2026-10-25T01:29:59.999Z'), 'allow r')
  t.equal(at('2026-10-25T01:30:00Z'), 'none')
})

t.test('headers are looked up by their name alone', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    const conditions = { headers: { [name]: '*' } }
    t.equal(decide(compile({ ...rule(), conditions })), 'none', name)
    t.equal(decide(compile({ ...rule({ effect: 'deny' }), conditions })), 'none', name)
    const sent = { headers: { [name.toLowerCase()]: 'x' } }
    t.equal(decide(compile({ ...rule(), conditions }), { facts: sent }), 'allow r', `${name} that is sent`)
  }
})
