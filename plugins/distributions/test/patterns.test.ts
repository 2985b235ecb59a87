/** Patterns of paths. */
import t from 'tap'
import { asHost, normalizeHost } from '../hosts.ts'
import { compilePattern, patternWidth, readPattern } from '../patterns.ts'

t.test('prefix, glob and regex', async t => {
  const cases: [Parameters<typeof compilePattern>[0], readonly string[], readonly string[]][] = [
    [{ type: 'prefix', pattern: '/docs/' }, ['/docs/', '/docs/a/b'], ['/docs', '/Docs/', '/x/docs/']],
    [{ type: 'prefix', pattern: '/docs/', caseInsensitive: true }, ['/DOCS/a'], ['/doc']],
    [{ type: 'glob', pattern: '/*.css' }, ['/a.css', '/.css'], ['/a/b.css', '/a.css/', '/axcss']],
    [{ type: 'glob', pattern: '/**.css' }, ['/a.css', '/a/b.css'], ['/a.cssx']],
    [
      { type: 'glob', pattern: '/img/?.{png,jpg}' },
      ['/img/a.png', '/img/a.jpg'],
      ['/img/ab.png', '/img//.png', '/img/a.gif'],
    ],
    [{ type: 'glob', pattern: '/a(b)[c]+$^|\\d' }, ['/a(b)[c]+$^|\\d'], ['/ab']],
    [{ type: 'glob', pattern: '/A', caseInsensitive: true }, ['/a'], []],
    [{ type: 'regex', pattern: '\\.txt$' }, ['/a.txt', '/a\n.txt'], ['/a.txt/']],
    [{ type: 'regex', pattern: '^/(?i:x)' }, ['/X', '/xy'], ['/yx']],
  ]
  for (const [pattern, hits, misses] of cases) {
    const matches = compilePattern(pattern)
    for (const path of hits) t.ok(matches(path), `${pattern.pattern} ${path}`)
    for (const path of misses) t.notOk(matches(path), `${pattern.pattern} ${path}`)
  }
  const refused: Parameters<typeof compilePattern>[0][] = [
    { type: 'prefix', pattern: 'docs' },
    { type: 'glob', pattern: 'docs' },
    { type: 'glob', pattern: '/{a,{b}}' },
    { type: 'glob', pattern: '/{a' },
    { type: 'regex', pattern: '(' },
    { type: 'regex', pattern: '(?=x)' },
    { type: 'regex', pattern: '(a)\\1' },
    { type: 'regex', pattern: '((a{1000}){1000}){1000}' },
    { type: 'prefix', pattern: `/${'ü'.repeat(512)}` },
  ]
  for (const pattern of refused) t.throws(() => compilePattern(pattern), TypeError, pattern.pattern.slice(0, 30))
})

t.test('a percent-encoded pattern is no new one, and a stored one stays as it is', async t => {
  const encoded = { type: 'prefix', pattern: '/Vertr%c3%a4ge/' } as const
  t.throws(() => readPattern(encoded), { message: /compared with decoded paths: write "\/Verträge\/"/ })
  t.ok(compilePattern(encoded)('/Vertr%c3%a4ge/a'))
  for (const [type, pattern] of [
    ['regex', '^/a%2Fb%2Ehtml$'],
    ['glob', '/a%2A%C3%A4'],
    ['glob', '/%7Ba%7D/**'],
  ] as const)
    t.throws(() => readPattern({ type, pattern }), { message: /: write the characters themselves/ }, pattern)
  t.throws(() => readPattern({ type: 'regex', pattern: '^/a%20%C3%BC' }), { message: /: write "\^\/a ü"/ })
  for (const pattern of ['^/a[%20]b', '^/a[%]20', '^/a\\%20']) t.ok(readPattern({ type: 'regex', pattern }), pattern)
  // Escapes that are no UTF-8 are answered 400, and a % alone is one.
  for (const pattern of ['/100%/', '/%zz', '/%E4/', '/Verträge/'])
    t.ok(readPattern({ type: 'prefix', pattern })(pattern))
  t.throws(() => readPattern({ type: 'prefix', pattern: 'docs' }), TypeError)
})

t.test('a pattern that would make others try for ever takes its steps once', async t => {
  const matches = compilePattern({ type: 'regex', pattern: '(a+)+$' })
  t.notOk(matches(`/${'a'.repeat(900)}!`))
})

t.test('the cost of a pattern is checked before it is stored', async t => {
  const regex = (pattern: string) => ({ type: 'regex' as const, pattern })
  t.equal(patternWidth({ type: 'prefix', pattern: '/docs/' }), 0)
  for (const pattern of ['/assets/**', '/*.{css,js}', '/a/*/b/**']) {
    const width = patternWidth({ type: 'glob', pattern })
    t.ok(width > 0 && width < 40, `${pattern}: ${width}`)
  }
  t.ok(patternWidth(regex('\\.(css|js|png)$')) < 40)
  t.ok(patternWidth(regex('(.*a.{300}b|.*a.{300}c|.*a.{300}d)$')) > 300)
  for (const pattern of ['a{0,1000}a{0,1000}b$', '(.*a.{900}b|.*a.{900}c)$', 'a{1001}']) {
    t.throws(() => compilePattern(regex(pattern)), pattern)
  }
})

t.test('hosts that would lead elsewhere in a location are nobody\u2019s', async t => {
  for (const host of [
    'evil.test/x.p.test',
    'evil.test?x.p.test',
    'evil.test#.p.test:80',
    'evil.test\\.p.test',
    'a*.q.test',
    'evil@b.p.test',
    '',
  ]) {
    t.equal(normalizeHost(host), '', host)
  }
  t.equal(normalizeHost('www.example.test.:8080'), 'www.example.test')
  const longest = `${'a.'.repeat(124)}.test`.replace('..', '.')
  t.equal(longest.length, 252)
  t.equal(normalizeHost(`a${longest}.:8080`), `a${longest}`)
  t.equal(normalizeHost(`aa${longest}`), '', 'no name is longer than 253 characters')
  t.equal(normalizeHost('xn--bcher-kva.example'), 'xn--bcher-kva.example')
  t.equal(normalizeHost('_a.b-c.test'), '_a.b-c.test')
})

t.test('hosts as somebody types them', async t => {
  const cases = [
    ['B\u00fccher.example:8080', 'xn--bcher-kva.example:8080'],
    ['Bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['WWW.Example.test.', 'www.example.test.'],
    ['_a.test', '_a.test'],
    ['[::1]:80', '[::1]:80'],
    ['no name/', 'no name/'],
    ['10.1', '10.1'],
    ['a%2Eb', 'a%2eb'],
    ['', ''],
  ] as const
  for (const [typed, host] of cases) t.equal(asHost(typed), host, typed)
})
