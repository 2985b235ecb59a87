/** What an invalidation means at hosts, and that nothing that it selects is left out when others cover it. */
import type { Invalidation } from 'svc/plugins/cache/api'
import { compilePattern, type Distribution } from 'svc/plugins/distributions/api'
import { createTestHttpClient } from 'svc/plugins/http-client/testing'
import { seeded } from 'svc/testing'
import t from 'tap'
import type { PurgeOperation } from '../api.ts'
import { expand, literalStart } from '../expand.ts'
import { namingOf } from '../naming.ts'
import { createOutgoing } from '../outgoing.ts'
import { reduceOperations } from '../reduce.ts'

const site = (aliases: readonly string[]) =>
  ({ id: 'site', aliases, defaultBehavior: { indexDocument: 'index.html' }, behaviors: [] }) as unknown as Distribution
const told = (changes: Partial<Invalidation>): Invalidation => ({
  ...{ id: '', distribution: 'site', kind: 'path', items: [], isCaseInsensitive: false, isSoft: false },
  ...changes,
})
const shapes = (invalidation: Partial<Invalidation>, aliases: readonly string[], domains: readonly string[] = []) =>
  expand(told(invalidation), site(aliases), domains).operations.map(operation =>
    [operation.kind, 'host' in operation ? operation.host : '', 'path' in operation ? operation.path : '']
      .join(' ')
      .trim(),
  )

t.test('paths are URLs at each exact host, absolute URLs at their own', async t => {
  t.same(shapes({ items: ['/a'] }, ['a.test', 'b.test']), ['url a.test /a', 'url b.test /a'])
  t.same(shapes({ items: ['/a'] }, ['a.test', 'b.test'], ['b.test']), ['url b.test /a'])
  t.same(shapes({ items: ['https://b.test/%C3%A4'] }, ['a.test', 'b.test']), ['url b.test /ä'])
  t.same(shapes({ items: ['https://c.test/x'] }, ['a.test']), [], 'of another host')
  t.same(shapes({ items: ['https://x.w.test/x'] }, ['*.w.test']), ['url x.w.test /x'], 'below a wildcard')
  t.same(shapes({ items: ['/d/index.html'] }, ['a.test']), ['url a.test /d/index.html', 'url a.test /d/'])
})

t.test('at a wildcard the hosts are not known: everything, and it is said', async t => {
  const { operations, widened } = expand(told({ items: ['/a'] }), site(['a.test', '*.w.test']), [])
  t.same(operations, [{ kind: 'all', isSoft: false }])
  t.same(widened, ['/a at *.w.test as everything'])
  t.same(shapes({ items: ['/a'] }, ['a.test', '*.w.test'], ['a.test']), ['url a.test /a'])
})

t.test('every match of a pattern begins with its literal text', async t => {
  const paths = ['/', '/a', '/ab', '/abc', '/a/b.png', '/a+b', '/b', '/aab', '/x/a']
  for (const [type, pattern] of [
    ['glob', '/a*'],
    ['glob', '/{a,b}'],
    ['glob', '**/a'],
    ['glob', '/a?c'],
    ['regex', '^/ab?c'],
    ['regex', '^/a|^/b'],
    ['regex', '/a$'],
    ['regex', '^/a{0}b'],
    ['regex', '^/a*b'],
    ['regex', '^/a\\+b'],
    ['regex', '^(/a)'],
    ['prefix', '/a'],
  ] as const) {
    const matches = compilePattern({ type, pattern })
    const literal = literalStart(type, pattern)
    for (const path of paths) if (matches(path)) t.ok(path.startsWith(literal), `${pattern}: ${path} and ${literal}`)
  }
})

t.test('the literal text of a pattern is a path, also where no path matches', t => {
  for (const pattern of ['^@3232235777/', '^m/x', '^evil', '^', '', '^:8443/'])
    t.equal(literalStart('regex', pattern), '/', pattern)
  t.equal(literalStart('regex', '^/docs/[a-z]'), '/docs/')
  t.end()
})

/** Of those that the test below asks for: whether a page is to be forgotten. */
function isSelected({ kind, items }: Invalidation, host: string, path: string): boolean {
  if (kind === 'domain') return items.includes(host)
  if (kind === 'prefix') return path.startsWith(items[0] as string)
  if (kind !== 'path') return true
  const forms = [path, `https://${host}${path}`, ...(path.endsWith('/') ? [`${path}index.html`] : [])]
  return forms.some(form => items.includes(form))
}

t.test('a webhook that levels name elsewhere is told nothing here, and never less than where it is named', async t => {
  const docs = { type: 'prefix', pattern: '/docs/' } as const
  const png = { type: 'glob', pattern: '**.png' } as const
  const distribution = {
    ...site(['a.test', 'b.test', '*.w.test']),
    createdMs: 1,
    behaviors: [{ pathPattern: docs }, { pathPattern: png }],
  } as unknown as Distribution
  await seeded(t, async random => {
    const pick = <T>(items: readonly T[]): T => items[random.integer(items.length)] as T
    const someNames = () => pick([undefined, undefined, [], ['one'], ['two'], ['one', 'two']])
    const hosts = ['a.test', 'b.test', 'x.w.test']
    const paths = ['/', '/docs/', '/docs/a.png', '/docs/index.html', '/b.png', '/c']
    for (let round = 0; round < 3000; round++) {
      const levels = { site: someNames(), domains: new Map(hosts.map(host => [host, someNames()])) }
      levels.domains.set('*.w.test', levels.domains.get('x.w.test'))
      const behaviors = new Map([docs, png].map(({ pattern }) => [pattern as string, someNames()]))
      const webhooksOf = ({ alias, pathPattern }: { alias: string; pathPattern?: { pattern: string } | undefined }) => {
        const ids = behaviors.get(pathPattern?.pattern ?? '') ?? levels.domains.get(alias) ?? levels.site
        return ids && { level: 'behavior' as const, ids }
      }
      const isNamedAt = (host: string, path: string) => {
        const pathPattern = path.startsWith('/docs/') ? docs : path.endsWith('.png') ? png : undefined
        return webhooksOf({ alias: host, pathPattern })?.ids.includes('one') !== false
      }
      const asked = told(
        pick<Partial<Invalidation>>([
          { items: [pick(paths), pick(paths)] },
          { items: [`https://${pick(hosts)}${pick(paths)}`] },
          { kind: 'prefix', items: ['/docs/'] },
          { kind: 'glob', items: ['/**'] },
          { kind: 'domain', items: [pick(hosts)] },
          { kind: 'tag', items: ['news'] },
          { kind: 'all' },
        ]),
      )
      const domains = pick([[], ['a.test', 'b.test'], ['a.test']])
      const isTold = namingOf({ webhooksOf } as never, distribution, 'one', key => key)
      const { operations } = expand(asked, distribution, domains, isTold)
      const behind = hosts.filter(host => domains.length === 0 || domains.includes(host))
      const isTagTold = asked.kind === 'tag' && operations.length > 0
      for (const host of behind) {
        for (const path of paths) {
          const isNeeded = isNamedAt(host, path) && isSelected(asked, host, path)
          if (isNeeded && !isTagTold && !selects(operations, host, path, true))
            t.fail(`${host}${path} is not told: ${JSON.stringify({ asked, domains, operations })}`)
          const isUrl = operations.some(each => each.kind === 'url' && each.host === host && each.path === path)
          if (isUrl && !isNamedAt(host, path))
            t.fail(`${host}${path} is told: ${JSON.stringify({ asked, operations })}`)
        }
      }
      const isNowhere = behind.every(host => paths.every(path => !isNamedAt(host, path)))
      if (isNowhere && operations.length > 0) t.fail(`told though it is named nowhere: ${JSON.stringify(operations)}`)
    }
  })
})

t.test('an alias below a wildcard is told what is forgotten at the wildcard', t => {
  const distribution = { ...site(['*.w.test', 'x.w.test']), createdMs: 1 }
  const namedAtX = (webhook: string) =>
    namingOf(
      {
        webhooksOf: ({ alias }: { alias: string }) => ({ level: 'domain', ids: alias === 'x.w.test' ? ['x'] : ['w'] }),
      } as never,
      distribution,
      webhook,
      key => key,
    )
  const kindsOf = (asked: Partial<Invalidation>, domains: readonly string[], webhook: string) =>
    expand(told(asked), distribution, domains, namedAtX(webhook)).operations.map(({ kind }) => kind)
  t.same(kindsOf({ kind: 'domain', items: ['*.w.test'] }, [], 'x'), ['all'])
  t.same(kindsOf({ kind: 'domain', items: ['*.w.test'] }, ['x.w.test'], 'x'), ['domain'])
  t.same(kindsOf({ kind: 'domain', items: ['x.w.test'] }, ['*.w.test'], 'w'), [])
  for (const asked of [{ items: ['/a'] }, { kind: 'all' }, { kind: 'tag', items: ['news'] }] as const)
    t.equal(kindsOf(asked, ['*.w.test'], 'x').length, 1, JSON.stringify(asked))
  t.end()
})

/** Copies that are left: `soft` ones may be there as stale ones. */
function selects(operations: readonly PurgeOperation[], host: string, path: string, isSoft: boolean): boolean {
  return operations.some(operation => {
    if (operation.isSoft && !isSoft) return false
    if (operation.kind === 'all') return true
    if (operation.kind === 'tag' || operation.host !== host) return false
    if (operation.kind === 'domain') return true
    if (operation.kind === 'pattern') return path.startsWith(operation.literal)
    return operation.kind === 'url' ? operation.path === path : path.startsWith(operation.path)
  })
}

t.test('what is left out is covered by what stays', async t => {
  await seeded(t, async random => {
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random.float() * items.length)]!
    const hosts = ['a.test', 'b.test']
    const paths = ['/', '/a', '/a/', '/a/b', '/a/b/c', '/b']
    for (let round = 0; round < 3000; round++) {
      const operations = Array.from({ length: 1 + Math.floor(random.float() * 8) }, (): PurgeOperation => {
        const [host, path, isSoft] = [pick(hosts), pick(paths), random.float() < 0.4]
        const kind = pick(['url', 'url', 'prefix', 'pattern', 'domain', 'tag', 'all'] as const)
        if (kind === 'all') return { kind, isSoft }
        if (kind === 'tag') return { kind, tag: pick(['x', 'y']), isSoft }
        if (kind === 'domain') return { kind, host, isSoft }
        if (kind === 'pattern')
          return { kind, type: 'glob', host, pattern: `${path}*`, literal: path, isCaseInsensitive: false, isSoft }
        return { kind, host, path, isSoft }
      })
      const reduced = reduceOperations(operations)
      for (const host of hosts) {
        for (const path of paths) {
          for (const isSoft of [false, true]) {
            if (selects(operations, host, path, isSoft) !== selects(reduced, host, path, isSoft))
              t.fail(`${host}${path}: ${JSON.stringify({ operations, reduced })}`)
          }
        }
      }
      if (reduced.length > operations.length) t.fail('more than before')
      for (const tag of ['x', 'y']) {
        const has = (all: readonly PurgeOperation[]) =>
          all.some(each => !each.isSoft && (each.kind === 'all' || (each.kind === 'tag' && each.tag === tag)))
        if (has(operations) !== has(reduced)) t.fail(`the tag ${tag}: ${JSON.stringify(operations)}`)
      }
    }
  })
})

t.test('a name that leads inside is refused at the connection, and plain HTTP outside of allowed networks', async t => {
  const names = { 'inside.test': ['10.0.0.5'], 'metadata.test': ['169.254.169.254'], 'loop.test': ['127.0.0.1'] }
  const outgoing = createOutgoing(createTestHttpClient(t, names), [])
  t.teardown(() => outgoing.close())
  for (const name of Object.keys(names)) {
    await t.rejects(outgoing.request({ url: `https://${name}/purge` }), /which is not allowed/, name)
  }
  await t.rejects(outgoing.request({ url: 'http://192.0.2.1/' }), { isPermanent: true, message: /https:\/\// })
  const reachable = createTestHttpClient(t, { 'unknown.invalid': ['192.0.2.1'] })
  const unknown = createOutgoing(reachable, [])
  t.teardown(() => unknown.close())
  await t.rejects(unknown.request({ url: 'http://unknown.invalid/' }), { isPermanent: false, message: /looked up/ })
  t.same(reachable.looked, [], 'nothing is sent in the clear to an address that is not known')
  const allowed = createOutgoing(createTestHttpClient(t), ['10.0.0.0/8', 'fd00::/8'])
  t.teardown(() => allowed.close())
  t.equal(allowed.urlProblem('http://10.1.2.3/purge'), undefined)
  t.equal(allowed.urlProblem('http://[fd00::1]/purge'), undefined)
  t.match(allowed.urlProblem('http://11.1.2.3/purge'), /must begin with https/)
  t.match(allowed.urlProblem('https://192.168.0.1/purge'), /must not be/)
})
