/** Patterns of paths. */
import t from 'tap'
import { compilePattern } from '../patterns.ts'

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

t.test('a pattern that would make others try for ever takes its steps once', async t => {
  const matches = compilePattern({ type: 'regex', pattern: '(a+)+$' })
  t.notOk(matches(`/${'a'.repeat(900)}!`))
})
