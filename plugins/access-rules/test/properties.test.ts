/** Random rules and requests against a slow, obvious evaluator, drawn from few words so that much of it meets: SEED=… repeats a run. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { requestConditions } from 'svc/plugins/policy/api'
import t from 'tap'
import { requestOf } from '../access-rules.ts'
import { checkRules } from '../check-rules.ts'
import { explain } from '../explanation.ts'
import { foldCase } from '../fold-case.ts'
import { compileGlob } from '../glob.ts'
import { compileRegex, createRegexSet, literalStartOf } from '../regexes.ts'
import type { AccessRule } from '../rule.ts'
import { ada, bob, context, facts } from './rules.ts'
import { literal, slowDecision } from './slow-evaluator.ts'

const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
t.comment(`SEED=${seed}`)
const check = (property: fc.IRawProperty<unknown>, numRuns: number) => fc.assert(property, { seed, numRuns })

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })
const list = <T>(...values: T[]) => fc.subarray(values, { minLength: 1, maxLength: 2 })

const keys = [
  '',
  'a',
  'a/b',
  'A/B',
  'public/x.jpg',
  'public/Y.JPG',
  'home/ada/1',
  'home/bob/1',
  'é',
  'É',
  'ſtraße',
  'STRAẞE',
  'K',
  'a\nb',
  '😀',
  '😀/x',
]
const match = fc.oneof(
  fc.record({
    type: fc.constant('prefix' as const),
    pattern: fc.constantFrom('', 'a', 'A', 'public/', 'home/', 'É', 'straß', '😀'),
    caseInsensitive: optional(fc.boolean()),
  }),
  fc.record({
    type: fc.constant('glob' as const),
    pattern: fc.constantFrom(
      '*',
      '**',
      '?',
      'a*',
      '*/*',
      '**.jpg',
      '*.{jpg,png}',
      'home/*/?',
      '{a,public}/**',
      'É',
      '?/x',
      'stra?e',
      'a**b',
    ),
    caseInsensitive: optional(fc.boolean()),
  }),
  fc.record({
    type: fc.constant('regex' as const),
    pattern: fc.constantFrom(
      'a',
      '^a$',
      '\\.jpg$',
      '^home/(?P<who>[^/]+)/',
      '[A-C]',
      'é|k',
      '^.$',
      'b$',
      '^(?:a|b)*$',
      's',
    ),
    caseInsensitive: optional(fc.boolean()),
  }),
)

const conditions = fc.record({
  sourceIp: optional(list('192.0.2.0/24', '10.0.0.0/8', '2001:db8::/32')),
  notSourceIp: optional(list('192.0.2.0/25', '0.0.0.0/0', '::/0')),
  secureTransport: optional(fc.boolean()),
  methods: optional(list('GET', 'PUT')),
  host: optional(list('a.example.org', 'b.example.org')),
  timeWindow: optional(
    fc.constantFrom(
      { from: '2026-01-01T00:00:00Z' },
      { to: '2026-01-01T00:00:00Z' },
      { from: '2025-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' },
    ),
  ),
  headers: optional(fc.constantFrom({ 'x-a': 'b*' }, { 'x-a': '?' }, { 'x-a': '*', 'x-b': 'c' })),
  captureEquals: optional(fc.constantFrom({ who: 'ada' }, { who: `\${aws:username}` })),
})

/** Without fields that are undefined, and with captures where there are any alone. */
function tidy<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

const oneRule: fc.Arbitrary<AccessRule> = fc
  .record({
    id: fc.constant('r'),
    priority: fc.integer({ min: 1, max: 4 }),
    effect: fc.constantFrom('allow' as const, 'deny' as const),
    principals: list('*', 'user:ada', 'group:staff', 'user:bob'),
    actions: list('read', 'list', 'write', 's3:DeleteObject', 's3:ListBucketVersions'),
    match: optional(match),
    conditions: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: conditions }),
  })
  .map(rule => {
    const clean = tidy(rule) as AccessRule
    if (clean.conditions !== undefined && clean.match?.pattern.includes('(?P<who>') !== true)
      delete clean.conditions.captureEquals
    return clean
  })
const rules = fc.array(oneRule, { maxLength: 6 }).map(all => all.map((rule, index) => ({ ...rule, id: `r${index}` })))

const request = fc
  .record({
    text: fc.constantFrom(...keys),
    action: fc.constantFrom(
      's3:GetObject',
      's3:ListBucket',
      's3:PutObject',
      's3:DeleteObject',
      's3:ListBucketVersions',
      's3:PutObjectAcl',
    ),
    identity: fc.constantFrom(undefined, ada, bob, { ...bob, accessKey: 'key-of-ada', userName: 'ada' }),
    isPublicBlocked: fc.boolean(),
    sourceAddress: fc.constantFrom('192.0.2.7', '192.0.2.200', '10.1.1.1', '2001:db8::1', '8.8.8.8'),
    secure: fc.boolean(),
    method: fc.constantFrom('GET', 'PUT', 'HEAD'),
    host: fc.constantFrom('a.example.org', 'c.example.org'),
    timeMs: fc.constantFrom(
      Date.parse('2025-12-31T23:59:59Z'),
      Date.parse('2026-01-01T00:00:00Z'),
      Date.parse('2030-01-01T00:00:00Z'),
    ),
    headers: fc.constantFrom({}, { 'x-a': 'b' }, { 'x-a': 'bcd', 'x-b': 'c' }),
  })
  .map(({ text, action, identity, isPublicBlocked, ...more }) => ({
    text,
    action,
    identity,
    isPublicBlocked,
    facts: { ...facts, ...more },
  }))

type Request = typeof request extends fc.Arbitrary<infer R> ? R : never

function setOf(all: readonly AccessRule[]) {
  const { set, problems } = checkRules(all, context)
  assert.ok(set !== undefined, JSON.stringify(problems))
  return set
}

function asked({ text, action, identity, facts: known }: Request) {
  const isListing = action.startsWith('s3:ListBucket')
  return requestOf({
    key: isListing ? undefined : text,
    action,
    identity,
    facts: { ...known, prefix: isListing ? text : undefined },
  })
}

const outcome = (all: readonly AccessRule[], one: Request) => {
  const found = setOf(all).find(asked(one), one.isPublicBlocked)
  return found === undefined ? 'none' : found.rule.effect
}

t.test('compiled rules decide like a simple model, and so does the explanation', async () => {
  const seen = new Set<string>()
  check(
    fc.property(rules, request, (all, one) => {
      const expected = slowDecision(all, one)
      seen.add(expected)
      assert.equal(outcome(all, one), expected)
      const explained = explain(setOf(all), asked(one), one.isPublicBlocked)
      assert.equal(explained.outcome, expected)
      const matching = all.filter(rule => slowDecision([rule], one) !== 'none').map(({ id }) => id)
      assert.deepEqual([...explained.matched].sort(), matching.sort())
      const blocked = all.filter(
        rule =>
          one.isPublicBlocked &&
          slowDecision([rule], one) === 'none' &&
          slowDecision([rule], { ...one, isPublicBlocked: false }) === 'allow',
      )
      assert.deepEqual([...explained.blockedPublic].sort(), blocked.map(({ id }) => id).sort())
    }),
    1500,
  )
  assert.deepEqual([...seen].sort(), ['allow', 'deny', 'none'])
})

const rank = { deny: 0, none: 1, allow: 2 }

t.test('no right is gained by adding a deny, or by blocking public access', async () => {
  check(
    fc.property(rules, oneRule, request, (all, added, one) => {
      const before = outcome(all, one)
      const withDeny = outcome([...all, { ...added, id: 'added', effect: 'deny' }], one)
      assert.ok(rank[withDeny] <= rank[before], `${before} becomes ${withDeny}`)
      const open = outcome(all, { ...one, isPublicBlocked: false })
      const blocked = outcome(all, { ...one, isPublicBlocked: true })
      assert.ok(blocked !== 'allow' || open === 'allow', `${open} becomes ${blocked}`)
    }),
    1000,
  )
})

t.test('globs match as expressions of JavaScript do', async () => {
  const part = fc.constantFrom('a', 'b', '/', '*', '**', '?', '{a,b/}', 'é', '😀')
  const text = fc.array(fc.constantFrom('a', 'b', '/', 'é', '😀'), { maxLength: 12 }).map(parts => parts.join(''))
  check(
    fc.property(fc.array(part, { maxLength: 45 }), text, (parts, key) => {
      const glob = parts.join('')
      const rule: AccessRule = {
        id: 'g',
        priority: 1,
        effect: 'allow',
        principals: ['*'],
        actions: ['read'],
        match: { type: 'glob', pattern: glob },
      }
      let compiled: ReturnType<typeof compileGlob>
      try {
        compiled = compileGlob(glob, 'path')
      } catch {
        // Too many alternatives.
        return
      }
      const one = { text: key, action: 's3:GetObject', identity: undefined, facts, isPublicBlocked: false }
      assert.equal(compiled.matches(key), slowDecision([rule], one) === 'allow')
    }),
    3000,
  )
})

t.test('case folding is that of Unicode, one character for one', async () => {
  check(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      (a, b) => {
        if (!a.isWellFormed() || !b.isWellFormed()) return
        assert.equal([...foldCase(a)].length, 1)
        const other = [a.toUpperCase(), a.toLowerCase(), b].find(one => [...one].length === 1)!
        assert.equal(foldCase(a) === foldCase(other), new RegExp(`^${literal(a)}$`, 'ui').test(other))
      },
    ),
    5000,
  )
  for (const [a, b] of [
    ['ſ', 'S'],
    ['K', 'k'],
    ['ς', 'Σ'],
    ['ẞ', 'ß'],
  ] as const)
    assert.equal(foldCase(a), foldCase(b))
  for (const [a, b] of [
    ['ı', 'i'],
    ['İ', 'i'],
    ['ss', 'ß'],
  ] as const)
    assert.notEqual(foldCase(a), foldCase(b))
})

t.test('a set of expressions matches the same texts as each of them', async () => {
  const source = fc.constantFrom(
    'a',
    '^a',
    '^ab',
    '^ab?',
    '^ab*b',
    '^a{2}',
    '^*a',
    '^a|b',
    '^(?:a|b)',
    'b$',
    '(a|b)*ab',
    '[^a]',
    'a{2,3}',
    '\\bab\\b',
    '(?i)A',
    '',
    'é+',
  )
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'A', ' ', 'é', '\n'), maxLength: 10 })
  check(
    fc.property(
      fc.array(fc.record({ source, isCaseInsensitive: fc.boolean() }), { minLength: 1, maxLength: 6 }),
      text,
      (regexes, key) => {
        const expected = regexes.flatMap((regex, index) =>
          compileRegex(regex).capture(key) === undefined ? [] : [index],
        )
        assert.deepEqual(createRegexSet(regexes).match(key), expected)
        for (const index of expected) assert.ok(key.startsWith(literalStartOf(regexes[index]!)))
      },
    ),
    600,
  )
})

t.test('a request is not kept: the same set answers another one after it', async t => {
  const set = setOf([
    {
      id: 'r',
      priority: 1,
      effect: 'allow',
      principals: ['*'],
      actions: ['read'],
      match: { type: 'regex', pattern: '^a' },
    },
  ])
  const ask = (key: string) =>
    set.find(requestOf({ key, action: 's3:GetObject', identity: undefined, facts }), false)?.rule.id
  t.same(['a', 'b', 'a'].map(ask), ['r', undefined, 'r'])
  t.equal(requestConditions(facts).facts, facts)
})
