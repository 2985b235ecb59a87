/** Which host finds which distribution: rules, names that nobody may have, and the table against a model that looks at everything. */
import assert from 'node:assert/strict'
import { seeded } from 'svc/testing'
import t from 'tap'
import { createHostTable } from '../host-table.ts'
import { covers, normalizeAlias, normalizeHost } from '../hosts.ts'
import { reservedBy, serverNames } from '../names.ts'
import { type RoutingRules, routeHost } from '../routing.ts'

t.test('hosts of requests', async t => {
  const hosts: [string, string][] = [
    ['a.test', 'a.test'],
    ['a.test:80', 'a.test'],
    ['a.test:', 'a.test'],
    ['a.test.', 'a.test'],
    ['a.test.:8080', 'a.test'],
    ['a.test:80:80', ''],
    ['a.test:@evil', ''],
    ['a.test:123456', ''],
    ['[::1]:80', ''],
    ['', ''],
  ]
  for (const [given, expected] of hosts) t.equal(normalizeHost(given), expected, given)
})

t.test('aliases', async t => {
  const good: [string, string][] = [
    ['WWW.Example.Test', 'www.example.test'],
    ['*.Example.test', '*.example.test'],
    ['bücher.test', 'xn--bcher-kva.test'],
    ['*.bücher.test', '*.xn--bcher-kva.test'],
    ['example.test.', 'example.test'],
    ['single', 'single'],
  ]
  for (const [given, expected] of good) t.equal(normalizeAlias(given), expected, given)
  const bad = [
    '127.0.0.1',
    '1.2',
    '0x7f.1',
    '::1',
    '[::1]',
    'a.test:80',
    'http://a.test',
    'a.test/x',
    'a..b',
    '.a',
    '*',
    '*.',
    'a.*.test',
    '*a.test',
    'a*',
    '**.test',
    '-a.test',
    'a b',
    `${'a'.repeat(64)}.test`,
    'a@b',
    'a%2eb',
    'a\\b',
  ]
  for (const alias of bad) t.throws(() => normalizeAlias(alias), TypeError, alias)
})

t.test('names of the server itself', async t => {
  const names = {
    ...serverNames({
      domain: ['s3.test'],
      serverUrl: 'https://s3.test:9000',
      browserRedirectUrl: 'https://console.test/',
    }),
    machine: 'machine.lan',
  }
  const refused = [
    's3.test',
    'console.test',
    '*.test',
    '*.s3.test',
    'other.s3.test',
    'a.mine.s3.test',
    '*.mine.s3.test',
    'localhost',
    'x.localhost',
    '*.localhost',
    'machine.lan',
    '*.lan',
  ]
  for (const alias of refused) t.type(reservedBy(alias, 'mine', names), 'string', alias)
  for (const alias of [
    'mine.s3.test',
    'www.example.test',
    '*.example.test',
    'xs3.test',
    'a.console.test',
    '*.console.test',
  ]) {
    t.equal(reservedBy(alias, 'mine', names), undefined, alias)
  }
})

const rules = (more: Partial<RoutingRules> = {}): RoutingRules => ({
  names: { domains: ['s3.test'], main: new Set(['main.test']), machine: 'm' },
  onS3: true,
  refusesUnknown: false,
  isOff: false,
  ...more,
})

t.test('the order of the steps on each listener', async t => {
  const table = createHostTable([[['www.example.test', 'mine.s3.test', '*.example.test'], 'one']])
  const step = (host: string, listener: 's3' | 'web' | 'web-tls' | 'console', given = rules()) => {
    const { step, match } = routeHost(host, listener, table, given)
    return `${step} ${match}`
  }
  for (const listener of ['s3', 'web', 'web-tls'] as const) {
    t.equal(step('www.example.test', listener), 'a exact')
    t.equal(step('a.b.example.test', listener), 'b wildcard')
    t.equal(step('mine.s3.test', listener), 'a exact', 'its own bucket')
  }
  t.equal(step('example.test', 's3'), 'e path-style', 'a wildcard is not its own domain')
  t.equal(step('other.s3.test', 's3'), 'c bucket-domain')
  t.equal(step('other.s3.test', 'web'), 'e misdirected')
  t.equal(step('main.test', 's3'), 'd main')
  t.equal(step('main.test', 'web'), 'e misdirected')
  t.equal(step('unknown.test', 's3', rules({ refusesUnknown: true })), 'e misdirected')
  t.equal(step('main.test', 's3', rules({ refusesUnknown: true })), 'd main')
  t.equal(step('www.example.test', 's3', rules({ onS3: false })), 'e path-style')
  t.equal(step('www.example.test', 'console'), 'e path-style', 'never there')
  t.equal(step('www.example.test', 'web', rules({ isOff: true })), 'e misdirected')
})

t.test('the table finds what a search through all aliases finds', async t => {
  await seeded(t, random => {
    const pick = <T>(list: readonly T[]): T => list[random.bytes(4).readUInt32LE() % list.length]
    const labels = ['a', 'b', 'c', 'x-y']
    const name = () => Array.from({ length: 1 + (random.bytes(1)[0] % 4) }, () => pick(labels)).join('.')
    for (let round = 0; round < 300; round++) {
      const taken = new Set<string>()
      const entries = Array.from({ length: random.bytes(1)[0] % 8 }, (_, index) => {
        const aliases = Array.from({ length: 3 }, () => (random.bytes(1)[0] < 100 ? `*.${name()}` : name()))
        const own = [...new Set(aliases)].filter(alias => !taken.has(alias))
        for (const alias of own) taken.add(alias)
        return [own, index] as const
      })
      const table = createHostTable(entries)
      for (let look = 0; look < 30; look++) {
        const host = name()
        const all = entries.flatMap(([aliases, index]) => aliases.map(alias => ({ alias, value: index })))
        const exact = all.find(({ alias }) => alias === host)
        const wild = all.filter(({ alias }) => covers(alias, host)).sort((p, q) => q.alias.length - p.alias.length)
        assert.deepEqual(table.find(host), exact ?? wild[0], `${host} in ${[...taken]}`)
        const inOrder = [...(exact === undefined ? [] : [exact]), ...wild]
        assert.deepEqual(table.all(host), inOrder, `all that match ${host} in ${[...taken]}, in order`)
      }
    }
    t.pass('9000 hosts, each looked up in both ways')
  })
})
