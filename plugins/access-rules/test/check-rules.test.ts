/** What is refused when rules are stored, and how it is told. */
import { createRequire } from 'node:module'
import t from 'tap'
import { problemsOf, rule } from './rules.ts'

/** As the plugin loads it. */
const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js')

t.test('each problem has its rule, its field and its position', async t => {
  const cases: readonly (readonly [wrong: object, expected: string])[] = [
    [{ id: 'a b' }, 'id@0: "a b" is no id: 1 to 64 letters, digits and . _ -'],
    [{ priority: 1.5 }, 'priority@0: must be integer'],
    [{ priority: 2_000_000 }, 'priority@0: is between -1000000 and 1000000'],
    [{ effect: 'maybe' }, 'effect@0: is none of the words that may stand here: allow, deny'],
    [{ principals: [] }, 'principals@0: is empty: use "*" for every caller'],
    [
      { actions: ['reed'] },
      'actions[0]@0: "reed" is neither a class of actions nor an action on objects or s3:ListBucket…: did you mean read?',
    ],
    [
      { actions: ['s3:CreateBucket'] },
      'actions[0]@0: "s3:CreateBucket" is neither a class of actions nor an action on objects or s3:ListBucket…: did you mean s3:ListBucket?',
    ],
    [{ surplus: 1 }, 'surplus@0: is no field of a rule'],
    [{ prinicpals: ['*'] }, 'prinicpals@0: is no field of a rule: did you mean principals?'],
    [{ conditions: { refferer: ['*'] } }, 'conditions.refferer@0: is no field of a rule: did you mean referer?'],
    [
      { match: { type: 'regex', pattern: 'ab(?=c)' } },
      'match.pattern@2: is no RE2 expression: invalid or unsupported Perl syntax: (?=',
    ],
    [{ match: { type: 'regex', pattern: 'ab(' } }, 'match.pattern@0: is no RE2 expression: missing closing ): ab('],
    [
      { match: { type: 'regex', pattern: '(a)\\1' } },
      'match.pattern@3: is no RE2 expression: invalid escape sequence: \\1',
    ],
    [{ match: { type: 'glob', pattern: 'ab{c' } }, 'match.pattern@2: has an opening brace that nothing closes'],
    [{ match: { type: 'glob', pattern: 'ab}c' } }, 'match.pattern@2: has a closing brace that nothing opened'],
    [{ match: { type: 'glob', pattern: '{a,{b}}' } }, 'match.pattern@3: has braces inside of braces'],
    [
      { match: { type: 'glob', pattern: 'ab\\' } },
      'match.pattern@2: ends with a backslash, which has nothing to take the meaning from',
    ],
    [
      { match: { type: 'prefix', pattern: 'x'.repeat(1025) } },
      'match.pattern@0: has 1025 bytes; at most 1024 are allowed',
    ],
    [
      { match: { type: 'suffix', pattern: 'x' } },
      'match.type@0: is none of the words that may stand here: prefix, glob, regex',
    ],
    [
      { conditions: { sourceIp: ['10.0.0.0/8', '10.0.0/8'] } },
      'conditions.sourceIp[1]@0: "10.0.0/8" is no address and no block such as 192.0.2.0/24',
    ],
    [{ conditions: { methods: ['get'] } }, 'conditions.methods[0]@0: "get" is no method: write GET, in capitals'],
    [{ conditions: { host: [] } }, 'conditions.host@0: is empty, so that the rule could never match: leave it out'],
    [
      { conditions: { host: ['a/b'] } },
      'conditions.host[0]@0: "a/b" is no host: write files.example.org or *.example.org',
    ],
    [
      { conditions: { timeWindow: { from: 'today' } } },
      'conditions.timeWindow.from@0: "today" is no time: write 2030-01-31T08:00:00Z',
    ],
    [
      { conditions: { timeWindow: { to: '2030-02-30T00:00:00Z' } } },
      'conditions.timeWindow.to@0: "2030-02-30T00:00:00Z" is no time: write 2030-01-31T08:00:00Z',
    ],
    [
      { conditions: { timeWindow: { to: '2030-01-01T24:00:00Z' } } },
      'conditions.timeWindow.to@0: "2030-01-01T24:00:00Z" is no time: write 2030-01-31T08:00:00Z',
    ],
    [{ conditions: { timeWindow: {} } }, 'conditions.timeWindow@0: has neither "from" nor "to"'],
    [
      { conditions: { timeWindow: { from: '2030-01-01T00:00Z', to: '2029-01-01T00:00Z' } } },
      'conditions.timeWindow@0: ends before it begins',
    ],
    [
      { conditions: { headers: { Authorization: '*' } } },
      'conditions.headers.Authorization@0: holds a secret, and rules can be read: no rule may ask for it',
    ],
    [
      { conditions: { captureEquals: { a: 'x' } } },
      'conditions.captureEquals@0: needs a match of the type "regex", with named groups such as (?P<user>…)',
    ],
  ]
  for (const [wrong, expected] of cases) {
    t.same(
      problemsOf(rule({ id: 'right' }), { ...rule(), ...wrong }),
      [`1 ${expected}`],
      JSON.stringify(wrong).slice(0, 80),
    )
  }
  const regex = { type: 'regex', pattern: '^(?P<a>x)' }
  t.same(problemsOf({ ...rule(), match: regex, conditions: { captureEquals: { b: 'x' } } }), [
    '0 conditions.captureEquals.b@0: the pattern has no group of the name "b"',
  ])
  const property = problemsOf({ ...rule(), match: regex, conditions: { captureEquals: { a: `x\${aws:SourceIp}` } } })
  t.match(property, [/^0 conditions\.captureEquals\.a@1: .* is no property of the caller/])
  t.same(problemsOf(7, { id: 'x' }, rule(), rule()), [
    '0 @0: must be object',
    '1 effect@0: is missing',
    '1 principals@0: is missing',
    '1 actions@0: is missing',
    '3 id@0: two rules have the id "r"',
  ])
})

t.test('expressions that could cost more than the budget are refused, and ordinary ones are many', async t => {
  const regexes = (count: number, pattern: (index: number) => string, more: object = {}) =>
    Array.from({ length: count }, (_, index) => ({
      ...rule({ id: `r${index}` }),
      match: { type: 'regex', pattern: pattern(index) },
      ...more,
    }))
  t.same(problemsOf(...regexes(50, index => `^dir${index}/`)), [])
  t.same(problemsOf(...regexes(20, index => `^users/(?P<name>[^/]+)/d${index}/.*\\.jpg$`)), [])
  const costs = (kind: string) => [
    new RegExp(`^-1 @0: all rules together cost \\d+ for the worst request, \\d+ of it for ${kind}`),
  ]
  for (const hostile of ['(?:[ab]*a){100}x', '(a|b)*a(a|b){200}', '(?:a?){150}a{150}', '[^x]*x{500}', '\\pL{300}$']) {
    t.match(problemsOf(...regexes(1, () => hostile)), costs('regexes'), hostile)
  }
  t.match(problemsOf(...regexes(100, index => `[a-z]*${index}[0-9]*x`)), costs('regexes'))
  t.match(problemsOf(...regexes(200, index => `x{1000}${index}x{1000}`)), [
    /^\d+ match\.pattern@0: makes the regexes of the bucket too large/,
  ])
  const captures = { conditions: { captureEquals: { a: 'x' } } }
  t.match(problemsOf(...regexes(100, () => '^u/(?P<a>[^/]+)/', captures)), costs('regexes'), 'groups are a second pass')
  const globs = (pattern: (index: number) => string, more: object = {}) =>
    Array.from({ length: 200 }, (_, index) => ({
      ...rule({ id: `g${index}` }),
      match: { type: 'glob', pattern: pattern(index) },
      ...more,
    }))
  t.same(problemsOf(...globs(index => `*${index}?x`).slice(0, 80)), [])
  t.match(problemsOf(...globs(index => `*${index}?x`)), costs('globs'))
  t.same(problemsOf(...globs(index => `d${index}-*?${'x'.repeat(1000)}`)), [], 'no key begins with two of them')
  t.match(problemsOf(...globs(() => `*?${'x'.repeat(1000)}`)), costs('globs'))
  t.match(
    problemsOf(...globs(() => 'x*', { conditions: { headers: { 'x-a': '*?b*' } } })),
    costs('patterns of headers'),
  )
})

t.test('rules that would take much memory in each thread are refused, before the rest is compiled', async t => {
  const many = (fields: (index: number) => object) =>
    Array.from({ length: 200 }, (_, index) => ({ ...rule({ id: `r${index}` }), ...fields(index) }))
  const alternatives = Array.from({ length: 60 }, (_, index) => `${index}q?*x`)
  const globs = many(index => ({ match: { type: 'glob', pattern: `${index}-{${alternatives}}` } }))
  t.match(problemsOf(...globs), [/^-1 @0: all rules together need \d+\.\d MiB of memory in each thread/])
  t.same(problemsOf(...globs.slice(0, 20)), [])
  const { compile: compileRegex } = RE2JS
  let compilations = 0
  RE2JS.compile = (...args) => {
    compilations++
    return compileRegex.apply(RE2JS, args)
  }
  t.teardown(() => {
    RE2JS.compile = compileRegex
  })
  const classes = many(index => ({ match: { type: 'regex', pattern: `x${index}${'\\pL'.repeat(300)}` } }))
  t.match(problemsOf(...classes), [/^\d match\.pattern@0: makes the regexes of the bucket too large/])
  t.ok(compilations < 10, `${compilations} compilations`)
  const users = many(index => ({ principals: Array.from({ length: 100 }, (_, user) => `user-${index}-${user}`) }))
  t.same(problemsOf(...users), [], 'names of users, as many as there may be')
})
