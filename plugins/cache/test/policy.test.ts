/** The rules of the cache: directives, dates, durations, lifetimes, inheritance, keys. */
import fc from 'fast-check'
import t from 'tap'
import {
  parseCacheControl,
  parseSurrogateControl,
  parseTargetedCacheControl,
  secondsMax,
} from '../policy/directives.ts'
import { parseDuration } from '../policy/duration.ts'
import { initialAgeMs, isStorable, lifetimeOf } from '../policy/freshness.ts'
import { parseHttpDate } from '../policy/http-date.ts'
import { cacheKey, type KeyRequest } from '../policy/key.ts'
import {
  builtInPolicies,
  type CacheLevel,
  type CachePolicy,
  type LevelSettings,
  levels,
  type PartialPolicy,
  resolvePolicy,
} from '../policy/policy.ts'

const nowMs = Date.UTC(2026, 0, 15, 12)
const policyOf = (policy: string, more: LevelSettings = {}) => resolvePolicy({ cluster: { policy, ...more } }).policy

const token = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/)
const text = fc.string({ unit: fc.constantFrom(...'abc ,=;\\"19-'), maxLength: 12 })
const quote = (value: string) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`

t.test('directives are found whatever stands beside them, and never inside of quotes', t => {
  const extension = fc.oneof(
    token.map(name => `x-${name}`),
    fc.tuple(token, text).map(([name, value]) => `x-${name}=${quote(value)}`),
    fc.tuple(token, token).map(([name, value]) => `x-${name}=${value}`),
  )
  const written = fc.tuple(
    fc.integer({ min: 0, max: 10 ** 12 }),
    fc.boolean(),
    fc.constantFrom('max-age', 'Max-Age', 'MAX-AGE'),
  )
  fc.assert(
    fc.property(
      fc.array(extension, { maxLength: 4 }),
      written,
      fc.array(extension, { maxLength: 4 }),
      (before, [age, isQuoted, name], after) => {
        const item = `${name}=${isQuoted ? quote(String(age)) : age}`
        const field = [...before, item, ...after].join(age % 2 === 0 ? ',' : ' , ')
        const found = parseCacheControl(field)
        return found.maxAge === Math.min(age, secondsMax) && found.sMaxAge === undefined && !found.names.has('no-store')
      },
    ),
  )
  t.end()
})

t.test('malformed directives make an answer older, never younger', t => {
  const ages: readonly (readonly [string, number | undefined])[] = [
    ['max-age=3600', 3600],
    ['max-age="3600"', 3600],
    ['max-age=003600', 3600],
    ["max-age='3600'", 0],
    ['max-age=3600.5', 0],
    ['max-age=a1', 0],
    ['max-age=1a', 0],
    ['max-age=-1', 0],
    ['max-age=', 0],
    ['max-age', 0],
    ['max-age =3600', 0],
    ['max-age= 3600', 0],
    ['max-age=10, max-age=5', 5],
    ['max-age=5, max-age=10', 5],
    [`max-age=${'9'.repeat(30)}`, secondsMax],
    ['x="max-age=3600", max-age=1', 1],
    ['x="max-age=3600', undefined],
    ['', undefined],
  ]
  for (const [field, age] of ages) t.equal(parseCacheControl(field).maxAge, age, field)
  t.equal(parseCacheControl('max-stale').maxStale, Infinity)
  t.ok(parseCacheControl('No-Store').names.has('no-store'))
  t.end()
})

t.test('CDN-Cache-Control is a dictionary, or is not there', t => {
  t.equal(parseTargetedCacheControl('max-age=60, must-revalidate')?.maxAge, 60)
  t.equal(parseTargetedCacheControl('max-age=60.5')?.maxAge, 0, 'no integer')
  t.equal(parseTargetedCacheControl('max-age="60"')?.maxAge, 0, 'text')
  for (const field of ['max-age=60,', 'Max-Age=60', 'max-age=60;;', '', '=60']) {
    t.equal(parseTargetedCacheControl(field), undefined, field)
  }
  fc.assert(fc.property(fc.string(), field => parseTargetedCacheControl(field) !== null))
  t.end()
})

t.test('Surrogate-Control says how long, or that nothing is kept, or it is not there', t => {
  const maxAgeOf = (field: string) => parseSurrogateControl(field)?.maxAge
  t.equal(maxAgeOf('max-age=60, foobar'), 60)
  t.equal(maxAgeOf('MaX-aGe=60'), 60)
  t.equal(maxAgeOf('max-age=60+30'), 60, 'without the time beyond')
  t.equal(maxAgeOf('max-age=60;not-for-you, max-age=5'), 5, 'what is for another cache is not for this one')
  t.equal(maxAgeOf('max-age=x'), 0)
  t.equal(maxAgeOf('content="ESI/1.0;a", max-age=7'), 7)
  t.ok(parseSurrogateControl('no-store')?.names.has('no-store'))
  t.ok(parseSurrogateControl('no-store-remote')?.names.has('no-store'))
  for (const field of ['max-age=60;not-for-you', 'content="ESI/1.0"', 'foo', '', ';']) {
    t.equal(parseSurrogateControl(field), undefined, field)
  }
  fc.assert(fc.property(fc.string(), field => parseSurrogateControl(field) !== null))
  t.end()
})

t.test('dates have one of three forms', t => {
  fc.assert(
    fc.property(fc.integer({ min: 300_000_000, max: 2 ** 31 - 1 }), seconds => {
      const date = new Date(seconds * 1000)
      const fixed = date.toUTCString()
      const [, dayOfMonth, month, year, time] = fixed.split(/,? /) as string[]
      const long = date.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' })
      const asctime = `${fixed.slice(0, 3)} ${month} ${String(Number(dayOfMonth)).padStart(2)} ${time} ${year}`
      const old = `${long}, ${dayOfMonth}-${month}-${year?.slice(2)} ${time} GMT`
      return [fixed, asctime, old].every(form => parseHttpDate(form, nowMs) === seconds * 1000)
    }),
  )
  for (const wrong of [
    '0',
    '-1',
    'Thu, 18 Aug 2050 02:01:18',
    'Thu, 18 Aug 2050 02:01:18 UTC',
    'Thu, 31 Feb 2050 02:01:18 GMT',
    'Thu, 18 Aug 2050 24:01:18 GMT',
    'thu, 18 aug 2050 02:01:18 gmt',
    'Thu,  18 Aug 2050 02:01:18 GMT',
  ]) {
    t.equal(parseHttpDate(wrong, nowMs), undefined, wrong)
  }
  t.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', nowMs), Date.UTC(1994, 10, 6, 8, 49, 37))
  t.end()
})

t.test('durations are seconds, or have units', t => {
  const durations: readonly (readonly [string | number, number | undefined])[] = [
    [300, 300_000],
    ['300', 300_000],
    ['500ms', 500],
    ['1h30m', 5_400_000],
    ['7w', 4_233_600_000],
    ['0', 0],
    ['-1s', undefined],
    ['1y', undefined],
    ['1.5h', undefined],
    ['', undefined],
    ['99999999999999999999d', undefined],
  ]
  for (const [text, ms] of durations) t.equal(parseDuration(text), ms, String(text))
  t.end()
})

/** The lifetime of an answer with these headers, and whether it may be stored. */
function judge(policy: CachePolicy, headers: Record<string, string>, status = 200, isAuthorized = false) {
  const head = { status, headers: new Map(Object.entries(headers)) }
  const lifetime = lifetimeOf(head, policy, nowMs)
  return { ...lifetime, isStorable: isStorable(head, lifetime, { isAuthorized }) }
}

t.test('the lifetime is the first that the answer says, and within the bounds of the policy', t => {
  const date = new Date(nowMs).toUTCString()
  const soon = new Date(nowMs + 90_000).toUTCString()
  const origin = policyOf('respect-origin')
  const lifetimes: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'cache-control': 's-maxage=10, max-age=20', expires: soon, date }, 10_000],
    [{ 'cache-control': 'max-age=20', expires: soon, date }, 20_000],
    [{ expires: soon, date }, 90_000],
    [{ expires: '0', date }, 0],
    [{ 'cdn-cache-control': 'max-age=5', 'cache-control': 'max-age=20' }, 5000],
    [{ 'cdn-cache-control': 'max-age=5 ,,', 'cache-control': 'max-age=20' }, 20_000],
    [{ 'surrogate-control': 'max-age=5', 'cache-control': 'max-age=20' }, 5000],
    [{ 'surrogate-control': 'max-age=20', expires: '0', date }, 20_000],
    [{ 'surrogate-control': 'content="ESI/1.0"', 'cache-control': 'max-age=20' }, 20_000],
    [{ 'cdn-cache-control': 'max-age=5', 'surrogate-control': 'max-age=20' }, 5000],
    [{ 'cache-control': 'max-age=20, no-cache' }, 0],
    [{}, 0],
  ]
  for (const [headers, freshMs] of lifetimes) t.equal(judge(origin, headers).freshMs, freshMs, JSON.stringify(headers))
  const standard = policyOf('standard')
  t.equal(judge(standard, {}).freshMs, 3_600_000)
  t.equal(judge(standard, { 'cache-control': 'max-age=99999999' }).freshMs, 7 * 86_400_000, 'at most the maximum')
  t.equal(judge(policyOf('aggressive'), { 'cache-control': 'max-age=1' }).freshMs, 3_600_000, 'at least the minimum')
  t.equal(judge(policyOf('immutable-assets'), { 'cache-control': 'max-age=1' }).freshMs, 365 * 86_400_000)
  t.equal(judge(standard, {}, 404).freshMs, 10_000, 'negative caching')
  t.equal(judge(standard, { 'cache-control': 'max-age=60' }, 404).freshMs, 60_000)
  t.end()
})

t.test('what may not be shared is not stored, whatever the policy says', t => {
  for (const policy of [...builtInPolicies.keys()].map(name => policyOf(name))) {
    for (const control of ['no-store', 'private', 'private="set-cookie"', 'max-age=60, no-store', 'NO-STORE']) {
      t.equal(judge(policy, { 'cache-control': control }).isStorable, false, control)
    }
    t.equal(judge(policy, { 'cache-control': 'private', 'cdn-cache-control': 'max-age=60' }).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'no-store', 'surrogate-control': 'max-age=60' }).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'max-age=60', 'surrogate-control': 'no-store' }).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' }).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'max-age=60', vary: 'accept, *' }).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'max-age=60' }, 206).isStorable, false)
    t.equal(judge(policy, { 'cache-control': 'max-age=60' }, 200, true).isStorable, false, 'authorized')
  }
  const origin = policyOf('respect-origin')
  t.equal(judge(origin, { 'cache-control': 'max-age=60, public' }, 200, true).isStorable, true)
  t.equal(judge(origin, { 'cache-control': 'max-age=60' }, 500).isStorable, true, 'an explicit lifetime')
  t.equal(judge(origin, {}, 500).isStorable, false)
  t.equal(judge(origin, {}, 404).isStorable, false)
  t.equal(judge(origin, {}).isStorable, false, 'nothing to validate it with')
  t.equal(judge(origin, { etag: '"a"' }).isStorable, true)
  t.end()
})

t.test('an answer that must be revalidated has no stale windows', t => {
  const policy = policyOf('aggressive')
  t.ok(judge(policy, {}).staleWhileRevalidateMs > 0)
  for (const control of ['must-revalidate', 'proxy-revalidate', 'no-cache', 's-maxage=5']) {
    const { staleIfErrorMs, staleWhileRevalidateMs } = judge(policy, { 'cache-control': control })
    t.same([staleWhileRevalidateMs, staleIfErrorMs], [0, 0], control)
  }
  t.equal(judge(policy, { 'cache-control': 'stale-while-revalidate=7' }).staleWhileRevalidateMs, 7000)
  t.end()
})

t.test('the age of an answer counts what other caches say', t => {
  const age = (headers: Record<string, string>) => initialAgeMs(new Map(Object.entries(headers)), nowMs - 500, nowMs)
  t.equal(age({}), 500)
  t.equal(age({ age: '10' }), 10_500)
  t.equal(age({ date: new Date(nowMs - 60_000).toUTCString(), age: '10' }), 60_000)
  for (const odd of ['7200, 0', '0, 0', 'abc', '-1', '7200.0', '1;a=b']) t.ok(age({ age: odd }) > 10 ** 12, odd)
  t.end()
})

const ownFields = fc.record(
  {
    ttl: fc.record({ default: fc.nat(), min: fc.nat(), max: fc.nat() }, { requiredKeys: [] }),
    staleIfError: fc.nat(),
    bypass: fc.record({ always: fc.boolean(), cookies: fc.array(token, { maxLength: 2 }) }, { requiredKeys: [] }),
    policy: fc.constantFrom(...builtInPolicies.keys(), 'mine', 'gone'),
    enabled: fc.boolean(),
  },
  { requiredKeys: [] },
)
const mine: PartialPolicy = { ttl: { default: 7, max: 8 }, minSize: 9 }

t.test('a field is of the lowest level that sets it or names a policy', t => {
  const settings = fc.record(
    { cluster: ownFields, distribution: ownFields, domain: ownFields, behavior: ownFields },
    { requiredKeys: [] },
  )
  const at = (policy: PartialPolicy | undefined, path: string) =>
    path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], policy)
  const standard = resolvePolicy({})
  fc.assert(
    fc.property(settings, given => {
      const found = resolvePolicy(given as never, name => (name === 'mine' ? mine : undefined))
      for (const [path, level] of found.fields) {
        let expected: readonly [CacheLevel, unknown] = ['default', at(standard.policy, path)]
        for (const one of [...levels].reverse()) {
          const own = given[one]
          if (own === undefined) continue
          if (at(own as PartialPolicy, path) !== undefined) {
            expected = [one, at(own as PartialPolicy, path)]
            break
          }
          if (own.policy === undefined) continue
          const named = own.policy === 'mine' ? mine : (builtInPolicies.get(own.policy) ?? { bypass: { always: true } })
          expected = [one, at(named, path) ?? at(standard.policy, path)]
          break
        }
        t.equal(level, expected[0])
        if (!Object.is(at(found.policy, path), expected[1])) return false
      }
      const enabling = [...levels].reverse().find(one => given[one]?.enabled !== undefined)
      return found.enabledLevel === (enabling ?? 'default') && found.fields.size === standard.fields.size
    }),
    { numRuns: 50 },
  )
  t.end()
})

const plain: KeyRequest = {
  space: 'site',
  shape: 's',
  host: 'a.test',
  path: '/x',
  query: '',
  header: () => undefined,
  cookie: () => undefined,
}
const keyFields = policyOf('standard').cacheKey

t.test('requests that differ in what is not keyed have one key; the others have keys of their own', t => {
  const keyOf = (more: Partial<KeyRequest>, fields: Partial<CachePolicy['cacheKey']> = {}) =>
    cacheKey({ ...plain, ...more }, { ...keyFields, ...fields }).id
  const base = keyOf({})
  t.equal(keyOf({ host: 'b.test', query: 'a=1', header: () => 'x', cookie: () => 'y' }), base)
  t.not(keyOf({ space: 'other' }), base)
  t.not(keyOf({ shape: 'other' }), base)
  t.not(keyOf({ path: '/y' }), base)
  t.not(keyOf({ host: 'b.test' }, { includeHost: true }), keyOf({}, { includeHost: true }))
  const all = { queryString: 'all' }
  t.equal(keyOf({ query: 'b=2&a=1' }, all), keyOf({ query: 'a=%31&b=2&utm_source=mail&gclid=1' }, all))
  t.not(keyOf({ query: 'a=1&a=2' }, all), keyOf({ query: 'a=2&a=1' }, all), 'the order of one name means something')
  t.not(keyOf({ query: 'a=b+c' }, all), keyOf({ query: 'a=b%2Bc' }, all))
  t.not(
    keyOf({ query: 'a=1&b=2' }, { ...all, normalize: false }),
    keyOf({ query: 'b=2&a=1' }, { ...all, normalize: false }),
  )
  t.equal(
    keyOf({ query: 'a=1&b=2' }, { queryString: 'allow:a' }),
    keyOf({ query: 'b=3&a=1' }, { queryString: 'allow:a' }),
  )
  t.equal(
    keyOf({ query: 'a=1&b=2' }, { queryString: 'deny:a' }),
    keyOf({ query: 'b=2&a=7' }, { queryString: 'deny:a' }),
  )
  const language = { headers: ['Accept-Language'], cookies: ['theme'] }
  t.not(keyOf({ header: () => 'de' }, language), keyOf({ header: () => 'en' }, language))
  t.equal(keyOf({ header: () => ' de ' }, language), keyOf({ header: () => 'de' }, language))
  t.not(keyOf({ cookie: () => 'dark' }, language), keyOf({}, language))
  t.equal(
    keyOf({ header: () => 'secret' }, { headers: ['Authorization', 'cookie', 'Range', 'host'] }),
    keyOf({}, { headers: [] }),
  )
  t.end()
})

t.test('no two requests have one key by what their parts contain', t => {
  const part = fc.string({ unit: fc.constantFrom('a', '\n', '\\', 'n', '\r', 'r', '%', '0', 'A'), maxLength: 6 })
  fc.assert(
    fc.property(part, part, part, part, (pathOne, hostOne, pathTwo, hostTwo) => {
      const fields = { ...keyFields, includeHost: true }
      const one = cacheKey({ ...plain, path: pathOne, host: hostOne }, fields)
      const two = cacheKey({ ...plain, path: pathTwo, host: hostTwo }, fields)
      return (one.id === two.id) === (pathOne === pathTwo && hostOne === hostTwo)
    }),
    { numRuns: 1000 },
  )
  t.end()
})
