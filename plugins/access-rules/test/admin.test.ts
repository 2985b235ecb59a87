/** The operations over the Admin API. */
import { responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'
import { rule } from './rules.ts'

const manages = { Effect: 'Allow', Action: 'admin:ManageAccessRules', Resource: 'arn:aws:s3:::photos' }
const server = await startAdmin()
t.teardown(server.stop)
const { accessRules, bucketPolicy, objectOwnership, objects, iam, policy, users } = server.kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })
await objects.createBucket('other', { region: 'us-east-1', owner: iam.owner })
await users.putPolicy('manages', { Version: '2012-10-17', Statement: [manages] })
await users.createUser({ accessKey: 'ada', secretKey: 'a-secret-of-ada', policyNames: ['manages'] })
await users.createUser({ accessKey: 'bob', secretKey: 'a-secret-of-bob' })
const asAda = server.signedBy('ada', 'a-secret-of-ada')
const asBob = server.signedBy('bob', 'a-secret-of-bob')

interface Call {
  readonly bucket?: string
  readonly ifMatch?: string
  readonly by?: typeof server.signed
}

async function call(id: string, body?: unknown, { bucket = 'photos', ifMatch, by = server.signed }: Call = {}) {
  const operation = server.operations.find(other => other.id === id)!
  const path = `/api/v1${operation.path.replace('{bucket}', bucket)}`
  const headers: Record<string, string> = ifMatch === undefined ? {} : { 'if-match': ifMatch }
  const answer = await by({ method: operation.method, path, body, headers })
  if (answer.status < 300) t.same(responseProblems(operation, answer.json), [], id)
  return { ...answer, outcome: `${answer.status} ${answer.json?.code ?? ''}`.trim() }
}

const put = (rules: readonly unknown[], more?: Call) => call('putAccessRules', { rules }, more)
const idsOf = (answer: { json: { rules: { id: string }[] } }) => answer.json.rules.map(({ id }) => id)

t.test('no rules are a document, too', async t => {
  const empty = await call('getAccessRules')
  t.equal(empty.status, 200)
  t.match(empty.json, { bucket: 'photos', rules: [], public: false, blockPublic: false, warnings: [] })
  t.equal(empty.headers.etag, `"${empty.json.etag}"`)
  t.equal((await put([], { ifMatch: empty.json.etag })).json.etag, empty.json.etag)
  t.equal((await call('getAccessRules', undefined, { bucket: 'no-such' })).outcome, '404 bucket_not_found')
  t.equal((await put([], { bucket: 'no-such' })).outcome, '404 bucket_not_found')
})

t.test('a change is whole, under an ETag, and can be read and sent back', async t => {
  const first = await put([rule({ id: 'a' }), rule({ id: 'b', effect: 'deny', priority: 5, actions: ['write'] })], {
    by: asAda,
  })
  t.equal(first.status, 200)
  t.match(first.json, { updatedBy: 'ada', public: true, blockPublic: false })
  t.same(idsOf(first), ['a', 'b'], 'in the order in which they were put')
  t.equal((await put([], { ifMatch: '"0123456789abcdef0123456789abcdef"' })).outcome, '412 precondition_failed')
  const read = await call('getAccessRules')
  t.same(read.json, first.json)
  const again = await call('putAccessRules', read.json, { ifMatch: `"${read.json.etag}"`, by: asAda })
  t.same(again.json.rules, read.json.rules)
  t.equal(again.json.etag, read.json.etag)
  const emptied = await put([], { ifMatch: again.json.etag })
  t.notOk('updatedAt' in emptied.json)
  t.equal((await put([rule()], { ifMatch: again.json.etag })).outcome, '412 precondition_failed')
})

t.test('everything that opens a bucket to everybody is named, whoever decides', async t => {
  const bucket = 'opened'
  await objects.createBucket(bucket, { region: 'us-east-1', owner: iam.owner })
  const openings = async () => {
    const { json } = await call('getAccessRules', undefined, { bucket })
    return json.openings.map(({ warning, ...rest }: { warning?: string }) => {
      if (warning !== undefined) t.ok(json.warnings.includes(warning), 'so that it need not be shown twice')
      return { ...rest, ...(warning !== undefined && { isWarned: true }) }
    })
  }
  const opening = { keys: [], except: [], limited: false, blocked: false, domains: [] }
  t.same(await openings(), [])

  const everybody = { Effect: 'Allow', Principal: '*' }
  const statements = [
    { ...everybody, Sid: 'Folder', Action: 's3:GetObject', Resource: 'arn:aws:s3:::opened/docs/*' },
    {
      ...everybody,
      Action: 's3:ListBucket',
      Resource: 'arn:aws:s3:::opened',
      Condition: { StringLike: { 's3:prefix': 'docs/*' }, Bool: { 'aws:SecureTransport': 'true' } },
    },
    {
      ...everybody,
      Principal: { AWS: ['arn:aws:iam:::user/ada'] },
      Action: 's3:GetObject',
      Resource: 'arn:aws:s3:::opened/*',
    },
  ]
  const policyDocument = { Version: '2012-10-17', Statement: statements }
  t.equal((await call('putBucketPolicy', policyDocument, { bucket })).outcome, '200')
  const byPolicy = [
    { ...opening, source: 'bucket-policy', name: 'Folder', actions: ['read'], keys: ['docs/*'] },
    { ...opening, source: 'bucket-policy', name: '1', actions: ['list'], keys: ['docs/*'], limited: true },
  ]
  t.same(await openings(), byPolicy, 'also where it is one folder alone')

  const madeRules = [
    rule({ id: 'a', actions: ['read', 's3:GetObjectTagging'], match: { type: 'prefix', pattern: 'a/' } }),
    rule({ id: 'shadowed', priority: 900, actions: ['read'], match: { type: 'prefix', pattern: 'a/' } }),
    rule({ id: 'over', conditions: { timeWindow: { to: '2020-01-01T00:00:00Z' } } }),
    rule({ id: 'later', priority: 901, conditions: { timeWindow: { from: '2999-01-01T00:00:00Z' } } }),
    rule({ id: 'of-ada', principals: ['ada'] }),
  ]
  await put(madeRules, { bucket })
  const byRules = [
    {
      ...opening,
      source: 'access-rule',
      name: 'a',
      actions: ['read', 's3:GetObjectTagging'],
      keys: ['a/*'],
      isWarned: true,
    },
    {
      ...opening,
      source: 'access-rule',
      name: 'later',
      actions: ['read'],
      limited: true,
      from: '2999-01-01T00:00:00.000Z',
      isWarned: true,
    },
  ]
  t.same(await openings(), [...byRules, ...byPolicy], 'a rule that has ended or never decides opens nothing')

  const distribution = async (id: string, more: object) => {
    const body = { id, aliases: [`${id}.example.test`], origin: { bucket }, ...more }
    t.equal((await call('createDistribution', body)).status, 201, id)
  }
  t.match((await call('getBucket', undefined, { bucket })).json, { published: false })
  await distribution('www', {
    origin: { bucket, pathPrefix: 'site/' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/closed/' }, access: 'deny' },
      { pathPattern: { type: 'regex', pattern: '^/private/.*\\.pdf$' }, access: 'deny' },
    ],
  })
  await distribution('part', {
    defaultBehavior: { access: 'deny' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/open/' }, access: 'public' },
      { pathPattern: { type: 'glob', pattern: '/any/*.png', caseInsensitive: true }, access: 'public' },
      { pathPattern: { type: 'regex', pattern: '^/x', caseInsensitive: true }, access: 'public' },
    ],
    restrictions: { sourceIp: { allow: ['192.0.2.0/24'] } },
  })
  const closed = { pathPattern: { type: 'prefix', pattern: '/closed/' }, access: 'signed' }
  const before = { pathPattern: { type: 'glob', pattern: '/closed/a.txt' }, access: 'public' }
  await call('createKeyGroup', { id: 'viewers' })
  await distribution('again', {
    defaultBehavior: { spaFallback: 'closed/b.txt', signing: { keyGroup: 'viewers' } },
    behaviors: [before, closed, { ...before, pathPattern: { type: 'glob', pattern: '/closed/late.txt' } }],
  })
  await distribution('indexed', {
    origin: { bucket, versionPinning: true },
    defaultBehavior: { indexDocument: 'report.pdf' },
    behaviors: [
      { pathPattern: { type: 'glob', pattern: '/**.pdf' }, access: 'deny' },
      { pathPattern: { type: 'prefix', pattern: '/Team/' }, access: 'signed', signing: { keyGroup: 'viewers' } },
    ],
  })
  await distribution('off', { enabled: false })
  await distribution('closed', { defaultBehavior: { access: 'authenticated' } })
  const shown = { ...opening, source: 'distribution', actions: ['read'] }
  const domains = ['again.example.test']
  const byDistributions = [
    { ...shown, name: 'again', except: ['closed/*'], domains },
    { ...shown, name: 'again', keys: ['closed/a.txt', 'closed/b.txt'], domains },
    { ...shown, name: 'indexed', except: ['**.pdf', 'Team/*'], domains: ['indexed.example.test'], versions: true },
    {
      ...shown,
      name: 'indexed',
      keys: ['**/report.pdf', 'report.pdf'],
      domains: ['indexed.example.test'],
      versions: true,
    },
    {
      ...shown,
      name: 'part',
      keys: ['open/*', '(?i)any/*.png', '* with a path that matches (?i)^/x'],
      limited: true,
      domains: ['part.example.test'],
    },
    {
      ...shown,
      name: 'www',
      keys: ['site/*'],
      except: ['site/closed/*', 'site/* with a path that matches ^/private/.*\\.pdf$'],
      domains: ['www.example.test'],
    },
  ]
  t.same(await openings(), [...byRules, ...byPolicy, ...byDistributions])

  const denies = { effect: 'deny' as const, actions: ['read', 'delete'] }
  const drafts = { type: 'prefix' as const, pattern: 'a/drafts/' }
  const allow = rule({ id: 'a', priority: 100, actions: ['read'], match: { type: 'prefix', pattern: 'a/' } })
  const kept = async (...rules: Parameters<typeof rule>[0][]) => {
    t.equal((await put([allow, ...rules.map(rule)], { bucket })).status, 200)
    const { json } = await call('getAccessRules', undefined, { bucket })
    const told = json.openings.map(({ name, deniedBy }: { name: string; deniedBy?: string[] }) => [name, deniedBy])
    return Object.fromEntries(told.filter(([, ids]: [string, string[] | undefined]) => ids !== undefined))
  }
  const conditions = { notSourceIp: ['192.0.2.0/24'] }
  t.same(await kept({ ...denies, id: 'office', priority: 100, match: drafts, conditions }), { a: ['office'] })
  t.same(await kept({ ...denies, id: 'late', priority: 101, match: drafts }), {}, 'one that comes later')
  t.same(await kept({ ...denies, id: 'all', priority: 101 }), { Folder: ['all'] }, 'it goes before policies')
  t.same(await kept({ ...denies, id: 'ada', priority: 1, principals: ['ada'] }), {}, 'of one user')
  t.same(await kept({ ...denies, id: 'other', priority: 1, actions: ['write'] }), {}, 'of other actions')
  t.same(await kept({ ...denies, id: 'beside', priority: 1, match: { type: 'glob', pattern: 'b/*.txt' } }), {})
  t.same(await kept({ ...denies, id: 'any', priority: 1, match: { type: 'regex', pattern: 'x$' } }), {
    a: ['any'],
    Folder: ['any'],
  })
  const past = { timeWindow: { to: '2020-01-01T00:00:00Z' } }
  t.same(await kept({ ...denies, id: 'over', priority: 1, conditions: past }), {}, 'one that has ended')
  t.same(await kept({ ...denies, id: 'docs', priority: 1, match: { type: 'glob', pattern: 'docs/*.md' } }), {
    Folder: ['docs'],
  })
  t.equal((await put(madeRules, { bucket })).status, 200)

  t.match((await call('getBucket', undefined, { bucket })).json, { published: true })
  await call('setBucketBlockPublic', { enabled: true }, { bucket })
  t.match((await call('getBucket', undefined, { bucket })).json, { published: false }, 'visitors are refused')
  t.same(
    await openings(),
    [...byRules, ...byPolicy, ...byDistributions].map(one => ({ ...one, blocked: true })),
    'what is blocked is named as such',
  )
  await call('setBucketBlockPublic', { enabled: false }, { bucket })
  await put([], { bucket })
  await call('deleteBucketPolicy', undefined, { bucket })
  for (const id of ['www', 'part', 'indexed', 'off', 'closed']) {
    t.equal((await server.signed({ method: 'DELETE', path: `/api/v1/distributions/${id}` })).status, 204)
  }
  t.match((await call('getAccessRules', undefined, { bucket })).json, { openings: [], objectLists: false })
  await objectOwnership.changeAccessControl(bucket, () => ({ ownership: 'ObjectWriter', acl: 'public-read' }))
  t.match((await call('getAccessRules', undefined, { bucket })).json, {
    openings: [{ ...opening, source: 'acl', name: '', actions: ['list'] }],
    objectLists: true,
  })
})

t.test('wrong rules: each error has its place, and nothing is stored', async t => {
  await put([rule({ id: 'kept' })])
  const wrong = [rule({ id: 'x' }), { ...rule({ id: 'y' }), match: { type: 'regex', pattern: 'a(' } }, { id: 7 }]
  const refused = await put(wrong)
  t.equal(refused.outcome, '400 invalid_access_rule')
  t.match(refused.json.accessRuleErrors[0], { rule: 1, id: 'y', field: 'match.pattern', position: 0 })
  t.equal(refused.json.detail, 'Rule "y", match.pattern: is no RE2 expression: missing closing ): a(.')
  t.same(new Set(refused.json.accessRuleErrors.map((one: { rule: number }) => one.rule)), new Set([1, 2]))
  const many = Array.from({ length: 201 }, (_, index) => rule({ id: `r${index}` }))
  t.equal((await put(many)).outcome, '400 too_many_access_rules')
  t.equal((await put(many.slice(1), { bucket: 'other' })).status, 200)
  t.equal((await put('none' as never)).outcome, '400 invalid_argument')
  t.same(idsOf(await call('getAccessRules')), ['kept'])
})

t.test('each operation requires its action', async t => {
  for (const id of ['getAccessRules', 'putAccessRules', 'setAccessPreset', 'testAccessRules']) {
    const body = { rules: [], preset: 'private' }
    const sent =
      id === 'putAccessRules'
        ? { rules: [] }
        : id === 'setAccessPreset'
          ? { preset: body.preset }
          : id === 'testAccessRules'
            ? {}
            : undefined
    t.equal((await call(id, sent, { by: asBob })).outcome, '403 access_denied', id)
    t.equal((await call(id, sent, { by: asAda, bucket: 'other' })).outcome, '403 access_denied', id)
  }
  t.equal((await call('setBlockPublic', { enabled: true }, { by: asAda })).outcome, '403 access_denied')
})

t.test('presets keep the rules that others wrote', async t => {
  await put([
    rule({ id: 'own', principals: ['ada'] }),
    rule({ id: 'everybody' }),
    rule({ id: 'preset-no', effect: 'deny', priority: 1 }),
  ])
  const preset = (name: string, more: object = {}, options?: Call) =>
    call('setAccessPreset', { preset: name, ...more }, options)
  t.same(idsOf(await preset('public-read')), ['own', 'everybody', 'preset-no', 'preset-public-read'])
  t.same(idsOf(await preset('public-read-list')), ['own', 'everybody', 'preset-no', 'preset-public-read-list'])
  t.equal((await preset('public-prefix')).outcome, '400 invalid_argument')
  const match = { type: 'prefix', pattern: 'public/' }
  const prefix = await preset('public-prefix', { match })
  t.match(prefix.json.rules.at(-1), { id: 'preset-public-prefix', match, actions: ['read'], principals: ['*'] })
  t.equal((await preset('public-read', { match })).outcome, '400 invalid_argument')
  t.equal((await preset('public-write')).outcome, '400 confirmation_required')
  t.match((await preset('public-write', { confirm: true, match })).json.rules.at(-1), { actions: ['write'], match })
  t.equal(
    (await preset('public-prefix', { match: { type: 'regex', pattern: '(' } })).outcome,
    '400 invalid_access_rule',
  )
  t.same(idsOf(await preset('custom')), ['own', 'everybody', 'preset-no'])
  await preset('public-read')
  const closed = await preset('private')
  t.same(idsOf(closed), ['own', 'preset-no'])
  t.equal(closed.json.public, false)
  t.equal(
    (await preset('public-read', {}, { ifMatch: '0123456789abcdef0123456789abcdef' })).outcome,
    '412 precondition_failed',
  )
  t.equal((await preset('public-read', {}, { ifMatch: `"${closed.json.etag}"` })).status, 200)
  t.equal((await preset('open')).outcome, '400 invalid_argument')
})

t.test('warnings name public access and rules that never decide', async t => {
  const stored = await put([
    rule({ id: 'files', actions: ['read', 'write'], match: { type: 'prefix', pattern: 'public/' } }),
    rule({ id: 'deeper', priority: 200, effect: 'deny', match: { type: 'prefix', pattern: 'public/a/' } }),
    rule({ id: 'hidden', priority: 300, effect: 'deny', actions: ['list'], match: { type: 'prefix', pattern: 'x/' } }),
    rule({ id: 'over', principals: ['ada'], conditions: { timeWindow: { to: '2020-01-01T00:00:00Z' } } }),
  ])
  t.same(stored.json.warnings, [
    '"files" lets every client read and write objects whose keys begin with "public/" without credentials: any client can fill the bucket or destroy its objects.',
    '"over" has ended: its time window was open until 2020-01-01T00:00:00Z.',
    '"deeper" never decides: "files" (priority 100, allow) matches all that it matches, and comes first.',
    '"hidden" denies listings by the prefix that they ask for: one of a shorter prefix shows these keys all the same.',
  ])
})

t.test('warnings name patterns of paths, as they stand in URLs', async t => {
  const warned = async (type: 'prefix' | 'glob' | 'regex', pattern: string) =>
    (await put([rule({ id: 'no', effect: 'deny', principals: ['ada'], match: { type, pattern } })])).json.warnings
  t.same(await warned('prefix', 'Vertr%C3%A4ge/'), [
    '"no" is for keys with a % in their names: its pattern "Vertr%C3%A4ge/" is percent-encoded, and keys are not. Write "Verträge/".',
  ])
  t.match(await warned('glob', 'a%2A/**'), [
    /percent-encoded.* Write the characters themselves, with a backslash before those/,
  ])
  const slash = /"no" is for keys that begin with a slash/
  for (const [type, pattern] of [
    ['prefix', '/Vertr'],
    ['glob', '/site/**'],
    ['regex', '^/site'],
  ] as const)
    t.match(await warned(type, pattern), [slash], pattern)
  t.match(await warned('prefix', '/Vertr%C3%A4ge/'), [slash, /percent-encoded/])
  for (const [type, pattern] of [
    ['prefix', 'a/b 100%'],
    ['glob', '**/100%'],
    ['regex', '[%]20|/%\\d'],
    ['prefix', 'latin-1-%E4'],
  ] as const)
    t.same(await warned(type, pattern), [], pattern)
})

t.test('rules that have ended, begin later or never decide make nothing public now', async t => {
  const shown = async (...rules: readonly object[]) => {
    const { json } = await put(rules)
    const listed = await server.signed({ path: '/api/v1/buckets/photos' })
    t.equal(listed.json.public, json.public, 'the bucket says the same')
    return [json.public, ...json.warnings]
  }
  const timed = (timeWindow: object) => rule({ id: 'drop', actions: ['write'], conditions: { timeWindow } })
  const ended = '"drop" has ended: its time window was open until 2020-01-01T00:00:00Z.'
  t.same(await shown(timed({ to: '2020-01-01T00:00:00Z' })), [false, ended])
  const later = await shown(timed({ from: '2999-01-01T00:00:00Z' }))
  t.equal(later[0], false)
  t.match(
    later[1],
    'lets every client write objects in the whole bucket without credentials from 2999-01-01T00:00:00Z on,',
  )
  t.equal((await shown(timed({ from: '2020-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z' })))[0], true)
  t.same(await shown(rule({ id: 'a' }), rule({ id: 'no', effect: 'deny', priority: 1 })), [
    false,
    '"a" never decides: "no" (priority 1, deny) matches all that it matches, and comes first.',
  ])
  t.equal((await shown(rule({ id: 'a' }), rule({ id: 'b' })))[0], true, 'of two allows the first opens')
})

t.test('a test shows each rule, the determinant and its source', async t => {
  await put([
    rule({ id: 'public', match: { type: 'glob', pattern: 'public/**' } }),
    {
      ...rule({ id: 'own', priority: 20, principals: ['ada'] }),
      match: { type: 'regex', pattern: '^home/(?P<who>[^/]+)/' },
      conditions: { captureEquals: { who: `\${aws:username}` } },
    },
    rule({ id: 'office', priority: 10, effect: 'deny', conditions: { notSourceIp: ['192.0.2.0/24'] } }),
  ])
  const test = (body: object, options?: Call) => call('testAccessRules', { ip: '192.0.2.1', ...body }, options)
  const shown = async (body: object, options?: Call) =>
    (await test(body, options)).json.results.map(
      (one: Record<string, unknown>) =>
        `${one.key}: ${one.allowed} ${one.source} ${one.determinant} ${one.rulesOutcome}`,
    )
  t.same(await shown({ keys: ['public/a', 'home/ada/x'] }), [
    'public/a: true access-rule public allow',
    'home/ada/x: false none  none',
  ])
  t.same(await shown({ keys: ['home/ada/x', 'home/bob/x'], principal: 'ada' }), [
    'home/ada/x: true access-rule own allow',
    'home/bob/x: false none  none',
  ])
  t.same(await shown({ keys: ['public/a'], ip: '198.51.100.1' }), ['public/a: false access-rule office deny'])
  t.same(await shown({ keys: ['public/a'], principal: 'admin', ip: '198.51.100.1' }), ['public/a: true root  deny'])
  const { json } = await test({ keys: ['home/ada/e\u0301'], principal: 'ada' })
  t.match(json, { bucket: 'photos', action: 's3:GetObject', blockPublic: false })
  t.equal(json.results[0].normalizedKey, 'home/ada/é')
  t.same(json.results[0].rules, [
    {
      id: 'office',
      priority: 10,
      effect: 'deny',
      captures: {},
      matched: false,
      mismatch: 'condition',
      condition: 'notSourceIp',
    },
    { id: 'own', priority: 20, effect: 'allow', captures: { who: 'ada' }, matched: true },
    { id: 'public', priority: 100, effect: 'allow', captures: {}, matched: false, mismatch: 'match' },
  ])
  t.match((await test({ action: 'list', keys: ['public/'] })).json, {
    action: 's3:ListBucket',
    results: [{ rules: [{ mismatch: 'action' }, {}, {}] }],
  })
  await objectOwnership.setPublicAccessBlock('photos', {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: false,
    restrictPublicBuckets: true,
  })
  const blocked = await test({ keys: ['public/a'] })
  t.match(blocked.json, {
    blockPublic: true,
    results: [
      {
        allowed: false,
        blockedPublic: ['public'],
        matched: [],
        rulesOutcome: 'none',
        source: 'block-public',
        determinant: 'public',
      },
    ],
  })
  await objectOwnership.setPublicAccessBlock('photos', undefined)

  t.equal((await test({ distribution: 'site' })).outcome, '404 distribution_not_found')
  t.equal((await test({ principal: 'nobody' })).outcome, '404 user_not_found')
  t.equal((await test({ principal: 'bob' }, { by: asAda })).outcome, '403 access_denied', 'of others')
  t.equal((await test({ principal: 'ada' }, { by: asAda })).status, 200)
  t.equal((await test({ action: 's3:CreateBucket' })).outcome, '400 invalid_argument')
  t.equal((await test({ keys: Array.from({ length: 101 }, () => 'a') })).outcome, '400 invalid_argument')
  t.equal((await test({ ip: 'here' })).outcome, '400 invalid_argument')
})

t.test('a test names no statement that its caller may not read', async t => {
  await put([])
  const statement = { Sid: 'Covert', Effect: 'Allow', Principal: '*', Action: 's3:GetObject' }
  const document = { Version: '2012-10-17', Statement: [{ ...statement, Resource: 'arn:aws:s3:::photos/covert/*' }] }
  await bucketPolicy.replace('photos', JSON.stringify(document))
  const shown = async (by: typeof server.signed) => {
    const { json } = await call('testAccessRules', { keys: ['covert/plan'] }, { by })
    const { allowed, source, determinant, reason } = json.results[0]
    return { allowed, source, determinant, reason }
  }
  t.same(await shown(asAda), {
    allowed: true,
    source: 'hidden',
    determinant: '',
    reason: 'A policy or rule that you may not read allows it.',
  })
  t.match(await shown(server.signed), { allowed: true, source: 'bucket-policy', determinant: 'Covert' })
  await bucketPolicy.replace('photos', undefined)
})

const everybodyReads = async () => {
  await policy.prepare('photos')
  return policy.isAllowed({ identity: undefined, action: 's3:GetObject', bucket: 'photos', key: 'a' })
}

t.test(
  'block public access of the cluster: reject refuses, ignore stores, and what was public is closed at once',
  async t => {
    await put([rule({ id: 'all' })])
    t.equal(await everybodyReads(), true)
    t.same((await call('setBlockPublic', { enabled: true })).json, {
      bucket: '',
      enabled: true,
      flags: [],
      mode: 'reject',
      cluster: true,
      effective: true,
    })
    t.equal(await everybodyReads(), false)
    t.equal((await put([rule({ id: 'all' })])).outcome, '403 public_access_blocked')
    t.equal((await call('setAccessPreset', { preset: 'public-read' })).outcome, '403 public_access_blocked')
    t.equal(
      (await put([rule({ id: 'all', principals: ['ada'] }), rule({ id: 'no', effect: 'deny' })])).status,
      200,
      'of named callers, and denies',
    )
    t.equal((await call('setBlockPublic', { enabled: true, mode: 'ignore' })).json.mode, 'ignore')
    const ignored = await put([rule({ id: 'all' })])
    t.match(ignored.json, {
      public: false,
      blockPublic: true,
      warnings: [/it has no effect while public access is blocked/],
    })
    t.equal(await everybodyReads(), false)
    t.match((await call('getBucketBlockPublic')).json, { enabled: false, cluster: true, effective: true })
    t.equal((await call('setBlockPublic', { enabled: true })).json.mode, 'ignore', 'the mode stays')
    t.same((await server.signed({ path: '/api/v1/config/access' })).json.settings, {
      block_public: 'on',
      block_public_mode: 'ignore',
    })
    t.equal((await call('setBlockPublic', { enabled: false })).json.effective, false)
    t.equal(await everybodyReads(), true)
    t.equal((await call('setBlockPublic', { enabled: true, mode: 'deny' })).outcome, '400 invalid_argument')
  },
)

t.test('the block of a bucket refuses and ignores, too; one flag alone keeps its meaning', async t => {
  const block = {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: true,
    restrictPublicBuckets: false,
  }
  await put([rule({ id: 'all' })])
  await objectOwnership.setPublicAccessBlock('photos', block)
  t.equal((await put([rule({ id: 'all' })])).outcome, '403 public_access_blocked')
  t.equal(await everybodyReads(), true)
  await objectOwnership.setPublicAccessBlock('photos', {
    ...block,
    blockPublicPolicy: false,
    restrictPublicBuckets: true,
  })
  t.equal((await put([rule({ id: 'all' })])).status, 200)
  t.equal(await everybodyReads(), false)
  await objectOwnership.setPublicAccessBlock('photos', undefined)
})

t.test('the interface for plugins that serve objects without policies', async t => {
  await put([
    rule({ id: 'no', effect: 'deny', match: { type: 'prefix', pattern: 'secret/' } }),
    rule({ id: 'ada', priority: 1, principals: ['ada'] }),
  ])
  const facts = { sourceAddress: '192.0.2.1', secure: true, timeMs: 0, headers: {} }
  t.same(await accessRules.denial('photos', 'secret/a', 's3:GetObject', () => facts), { rule: 'no' })
  t.equal(await accessRules.denial('photos', 'a', 's3:GetObject', () => facts), undefined)
  const ada = (await iam.credentials('ada'))!.identity
  t.equal(
    await accessRules.denial('photos', 'secret/a', 's3:GetObject', () => facts, ada),
    undefined,
    'an allow of a lower number',
  )
  t.equal(await accessRules.denial('other-bucket', 'secret/a', 's3:GetObject', () => facts), undefined)
})

t.test('users and groups that do not exist are warned about, if the caller may read users', async t => {
  await users.createGroup({ name: 'staff', members: ['bob'] })
  const { key } = await users.createAccessKey({ identity: iam.owner, isAllowed: () => true } as never, { user: 'ada' })
  const rules = [
    rule({ id: 'known', principals: ['ada', 'group:staff', 'user:bob'] }),
    rule({ id: 'typo', principals: ['adda', 'group:stuff'] }),
    rule({ id: 'key', principals: [key.accessKey] }),
  ]
  const warned = [
    '"typo" is about the user "adda", who does not exist: create the user, or check the name.',
    '"typo" is about the group "stuff", which does not exist: create the group, or check the name.',
    `"key" is about "${key.accessKey}", which is an access key and no user: write "ada", the user of this key, with all keys of it.`,
  ]
  t.same((await put(rules)).json.warnings, warned)
  t.same((await call('getAccessRules')).json.warnings, warned)
  t.same((await call('getAccessRules', undefined, { by: asAda })).json.warnings, [], 'ada may not read users')
})

t.test('a test through a distribution: its host and mode, and the access of its behaviors', async t => {
  const publish = (fields: object) =>
    server.signed({ method: 'PUT', path: '/api/v1/distributions/site', body: { id: 'site', ...fields } })
  const website = {
    aliases: ['*.example.test'],
    origin: { bucket: 'photos', pathPrefix: 'site/' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/members/' }, access: 'authenticated' },
      { pathPattern: { type: 'prefix', pattern: '/closed/' }, access: 'deny' },
    ],
  }
  t.equal((await publish(website)).status, 201)
  await put([
    rule({ id: 'hotlink', effect: 'deny', conditions: { host: ['www.example.test'], referer: ['https://evil/*'] } }),
    rule({ id: 'ada', principals: ['ada'] }),
  ])
  const tested = async (key: string, more: object = {}) => {
    const answer = await call('testAccessRules', { keys: [key], distribution: 'site', ...more })
    const [{ allowed, source, determinant, reason }] = answer.json.results
    return [allowed, source, determinant, reason]
  }
  const open = 'The behavior of this path is public: policies are not asked.'
  t.same(await tested('site/a.html'), [true, 'distribution', '', open])
  t.same((await tested('site/a.html', { referer: 'https://evil/' })).slice(0, 3), [false, 'access-rule', 'hotlink'])
  t.same((await tested('other/a.html'))[3], 'No path of the distribution leads to this key.')
  t.same((await tested('site/closed/a'))[3], 'The behavior of this path denies everybody.')
  t.same((await tested('site/members/a'))[3], 'The behavior of this path needs credentials.')
  t.same((await tested('site/members/a', { principal: 'ada' })).slice(0, 3), [true, 'access-rule', 'ada'])
  t.match(await tested('site/a', { action: 'write' }), [false, 'distribution', '', /only reads objects/])
  const byAda = await call('testAccessRules', { keys: ['site/closed/a'], distribution: 'site' }, { by: asAda })
  t.match(byAda.json.results, [{ allowed: false, reason: 'The distribution denies it.' }], 'she may not read it')
  const publishing = { Effect: 'Allow', Action: 'admin:ManageDistributions', Resource: '*' }
  await users.putPolicy('publishes', { Version: '2012-10-17', Statement: [publishing] })
  await users.createUser({ accessKey: 'web', secretKey: 'a-secret-of-web', policyNames: ['publishes'] })
  const request = { url: 'http://www.example.test/a.html', headers: { referer: 'https://evil/' } }
  const outcome = async (by: typeof server.signed) => {
    const { json } = await by({ method: 'POST', path: '/api/v1/distributions/site/test', body: request })
    return [json.decision, json.source, json.rule]
  }
  t.same(await outcome(server.signed), ['deny', 'access-rule', 'hotlink'])
  t.same(await outcome(server.signedBy('web', 'a-secret-of-web')), ['deny', 'policy', ''], 'no rule is named')
  const errorPages = [{ status: 403, path: '/404.html', responseStatus: 404 }]
  t.equal((await publish({ ...website, errorPages })).status, 200)
  t.same(
    await outcome(server.signed),
    ['deny', 'access-rule', 'hotlink'],
    'an error page with another status opens nothing',
  )
  const restrictions = { sourceIp: { deny: ['0.0.0.0/0', '::/0'] } }
  t.equal((await publish({ ...website, errorPages, restrictions })).status, 200)
  t.same(await outcome(server.signed), ['deny', 'distribution', ''], 'nor that of a restriction')
  t.equal((await publish({ ...website, errorPages })).status, 200)
  request.url = 'http://www.example.test/members/a'
  t.same((await outcome(server.signed))[0], 'deny', 'nor that of a path for users')
  await call('setBucketBlockPublic', { enabled: true })
  t.same((await tested('site/a.html')).slice(0, 2), [false, 'block-public'])
  await call('setBucketBlockPublic', { enabled: false })

  const endpoint = { aliases: ['www.example.test'], mode: 's3', origin: { bucket: 'photos' } }
  t.equal((await publish(endpoint)).status, 200)
  t.same((await tested('site/a.html')).slice(0, 2), [false, 'none'], 'S3 asks policies')
  t.same((await tested('site/a.html', { principal: 'ada' })).slice(0, 3), [true, 'access-rule', 'ada'])
  t.equal((await publish({ ...endpoint, enabled: false })).status, 200)
  t.same((await tested('site/a.html', { principal: 'ada' }))[3], 'The distribution is disabled.')

  const wrong = (distribution: string, bucket?: string) =>
    call('testAccessRules', { keys: ['a'], distribution }, bucket === undefined ? {} : { bucket })
  t.equal((await wrong('no-such')).outcome, '404 distribution_not_found')
  t.equal((await wrong('site', 'other')).outcome, '404 distribution_not_found')
})

t.test('the audit record of a bulk deletion names the rule that kept an object', async t => {
  await put([
    rule({ id: 'cleaner', principals: ['bob'], actions: ['delete'] }),
    rule({ id: 'kept', effect: 'deny', actions: ['delete'], priority: 1, match: { type: 'prefix', pattern: 'kept/' } }),
  ])
  const objectsOf = (...keys: string[]) => ({ objects: keys.map(key => ({ key })), prefixes: [] })
  const answer = await call('deleteObjects', objectsOf('a', 'kept/b', 'c'), { by: asBob })
  t.match(answer.json, { errors: [{ key: 'kept/b', code: 'access_denied', message: 'You may not do this.' }] })
  t.notMatch(answer.text, 'cleaner')
  const recorded = async () => {
    const found = await server.signed({ method: 'GET', path: '/api/v1/audit?bucket=photos&limit=100' })
    return found.json.items.filter(({ api }: { api: string }) => api === 'deleteObjects')
  }
  const [record] = await recorded()
  t.match(record.tags, { deniedBy: 'access-rule', accessRule: 'kept' })
})
