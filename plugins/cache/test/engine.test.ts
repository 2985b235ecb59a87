/** The answers that visitors get from the cache, and the requests that the origin gets. */
import type { CacheOrigin, CacheRequest, HeaderLine, LevelSettings } from 'svc/plugins/cache/api'
import { resolvePolicy } from 'svc/plugins/cache/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { CacheEngine } from '../engine/engine.ts'

interface Canned {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string | (() => AsyncIterable<Uint8Array>)
}

/** A cache in front of an origin whose answers the test sets. */
function setUp(settings: LevelSettings = { policy: 'respect-origin' }, budgetBytes = 16 * 1024 * 1024) {
  const clock = createFakeClock(Date.UTC(2026, 0, 1))
  const log = { debug() {} } as never
  const engine = new CacheEngine({ clock, log, budgetBytes })
  const asked: { method: string; headers: Record<string, unknown> }[] = []
  let answer: Canned | Error | (() => Promise<Canned>) = {}
  const origin: CacheOrigin = {
    async fetch({ method, headers }) {
      asked.push({ method, headers: { ...headers } })
      const now = typeof answer === 'function' ? await answer() : answer
      if (now instanceof Error) throw now
      const { status = 200, headers: lines = {}, body = 'body' } = now
      async function* bytes() {
        yield Buffer.from(body as string)
      }
      return {
        status,
        headers: Object.entries(lines) as HeaderLine[],
        body: typeof body === 'string' ? bytes() : body(),
      }
    },
  }
  const get = async (more: Partial<CacheRequest> & { path?: string; query?: string } = {}) => {
    const { path = '/a', query = '', ...request } = more
    const key = { space: 'site', shape: '', host: 'a.test', path, query }
    const policy = resolvePolicy({ cluster: settings })
    const served = { method: 'GET', headers: {}, key, policy, honorsDirectives: false, ...request }
    const { status, headers, body, result } = await engine.serve(served, origin)
    const chunks: Uint8Array[] = []
    if (Buffer.isBuffer(body)) chunks.push(body)
    else if (body !== undefined) for await (const chunk of body) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    return { status, headers: Object.fromEntries(headers), result, text }
  }
  return {
    engine,
    clock,
    asked,
    get,
    answerWith: (next: typeof answer) => {
      answer = next
    },
  }
}

const lasting = { 'Cache-Control': 'max-age=60', ETag: '"1"' }

t.test('MISS, HIT, REVALIDATED and EXPIRED, with their Age and Cache-Status', async t => {
  const { get, answerWith, asked, clock } = setUp()
  answerWith({ headers: lasting, body: 'one' })
  t.match(await get(), {
    result: 'MISS',
    text: 'one',
    headers: { 'X-Cache': 'MISS', 'Cache-Status': 'svc; fwd=miss; stored' },
  })
  await clock.advance(20_000)
  t.match(await get(), {
    result: 'HIT',
    text: 'one',
    headers: { 'X-Cache': 'HIT', Age: '20', 'Cache-Status': 'svc; hit; ttl=40' },
  })
  t.equal(asked.length, 1)
  await clock.advance(50_000)
  answerWith({ status: 304, headers: { 'Cache-Control': 'max-age=10', ETag: '"1"' }, body: '' })
  t.match(await get(), {
    result: 'REVALIDATED',
    status: 200,
    text: 'one',
    headers: { Age: '0', 'Cache-Control': 'max-age=10' },
  })
  t.match(asked[1], { headers: { 'if-none-match': '"1"' } })
  t.equal((await get()).result, 'HIT', 'its lifetime began anew')
  await clock.advance(11_000)
  answerWith({ headers: { ...lasting, ETag: '"2"' }, body: 'two' })
  t.match(await get(), { result: 'EXPIRED', text: 'two' })
  t.match(await get(), { result: 'HIT', text: 'two' })
})

t.test('STALE while it is read again, and when that fails; never beyond its windows', async t => {
  const { get, answerWith, asked, clock } = setUp()
  const headers = { 'Cache-Control': 'max-age=60, stale-while-revalidate=30, stale-if-error=600' }
  answerWith({ headers, body: 'one' })
  await get()
  await clock.advance(70_000)
  let finish: (canned: Canned) => void = () => undefined
  answerWith(() => new Promise(resolve => (finish = resolve)))
  for (let i = 0; i < 3; i++) t.match(await get(), { result: 'STALE', text: 'one' })
  t.equal(asked.length, 2, 'one refresh runs')
  finish({ headers, body: 'two' })
  await new Promise(resolve => setImmediate(resolve))
  t.match(await get(), { result: 'HIT', text: 'two' })
  await clock.advance(120_000)
  answerWith({ status: 503, body: 'down' })
  t.match(await get(), { result: 'STALE', text: 'two' })
  answerWith(new Error('away'))
  t.match(await get(), { result: 'STALE', text: 'two' })
  await clock.advance(600_000)
  await t.rejects(get(), { message: 'away' })
  answerWith({ status: 503, body: 'down' })
  t.match(await get(), { status: 503, result: 'EXPIRED' })
})

t.test('what must be revalidated is never stale', async t => {
  const { get, answerWith, clock } = setUp({ policy: 'aggressive', ttl: { min: 0 } })
  answerWith({ headers: { 'Cache-Control': 'max-age=60, must-revalidate' } })
  await get()
  await clock.advance(61_000)
  answerWith(new Error('away'))
  await t.rejects(get(), { message: 'away' })
})

t.test('requests for one key wait for one read; who may not share reads alone', async t => {
  const { get, answerWith, asked } = setUp()
  answerWith(async () => ({ headers: lasting, body: 'one' }))
  const all = await Promise.all([get(), get(), get(), get({ path: '/b' })])
  t.equal(asked.length, 2)
  t.same(
    all.map(({ result }) => result),
    ['MISS', 'MISS', 'MISS', 'MISS'],
  )
  t.equal(all[1]?.headers['Cache-Status'], 'svc; fwd=miss; collapsed')
  answerWith(async () => ({ headers: { 'Cache-Control': 'private' } }))
  await Promise.all([get({ path: '/c' }), get({ path: '/c' })])
  t.equal(asked.length, 4, 'what is private is read for each')
})

t.test('BYPASS: credentials, disabled, cookies and headers that say so', async t => {
  const { get, answerWith, engine } = setUp({ policy: 'standard', bypass: { cookies: ['session'], headers: ['X-No'] } })
  answerWith({ headers: { 'Cache-Control': 'max-age=60' } })
  for (const headers of [{ authorization: 'Basic x' }, { cookie: 'a=b; session=1' }, { 'x-no': '1' }]) {
    t.match(await get({ headers }), { result: 'BYPASS', headers: { 'Cache-Status': 'svc; fwd=bypass' } })
  }
  const disabled = resolvePolicy({ cluster: { policy: 'standard' }, distribution: { enabled: false } })
  t.equal((await get({ policy: disabled })).result, 'BYPASS')
  t.equal(engine.memory.usage.entries, 0)
})

t.test('an origin that is away: what must not be stale is refused, and nothing else', async t => {
  for (const directive of ['must-revalidate', 'proxy-revalidate', 'no-cache', 's-maxage=60']) {
    const { get, answerWith, clock } = setUp({ policy: 'respect-origin', staleIfError: 3_600_000 })
    answerWith({ headers: { 'Cache-Control': `max-age=60, ${directive}`, ETag: '"1"' } })
    t.match(await get(), { result: 'MISS' })
    await clock.advance(61_000)
    answerWith(new Error('the connection was closed'))
    await t.rejects(get(), { message: 'the connection was closed' }, directive)
  }
  const { get, answerWith, clock } = setUp({ policy: 'respect-origin', staleIfError: 3_600_000 })
  answerWith({ headers: lasting })
  await get()
  await clock.advance(61_000)
  answerWith(new Error('the connection was closed'))
  t.match(await get(), { result: 'STALE', status: 200 })
})

t.test('a HEAD is answered from a GET, and does not read bytes', async t => {
  const { get, answerWith, asked, clock } = setUp()
  answerWith({ headers: { ...lasting, 'Content-Length': '3' }, body: 'one' })
  await get()
  t.match(await get({ method: 'HEAD' }), { result: 'HIT', text: '', headers: { 'Content-Length': '3' } })
  await clock.advance(61_000)
  t.match(await get({ method: 'HEAD' }), { result: 'MISS', text: '' })
  t.equal(asked.at(-1)?.method, 'HEAD')
  t.match(await get(), { result: 'HIT', text: 'one' }, 'the same validators renew it')
  await clock.advance(61_000)
  answerWith({ headers: { ...lasting, ETag: '"2"' } })
  await get({ method: 'HEAD' })
  t.equal((await get()).result, 'MISS', 'others drop it')
})

t.test('conditions and ranges are answered from what is stored', async t => {
  const { get, answerWith, asked } = setUp()
  answerWith({ headers: lasting, body: '0123456789' })
  t.match(await get({ headers: { 'if-none-match': 'W/"1"' } }), { status: 304, text: '', result: 'MISS' })
  t.match(await get({ headers: { range: 'bytes=2-4' } }), {
    status: 206,
    text: '234',
    headers: { 'Content-Range': 'bytes 2-4/10' },
  })
  t.match(await get({ headers: { range: 'bytes=-3' } }), { status: 206, text: '789' })
  t.match(await get({ headers: { range: 'bytes=10-' } }), { status: 416, headers: { 'Content-Range': 'bytes */10' } })
  t.match(await get({ headers: { range: 'bytes=0-1', 'if-range': '"2"' } }), { status: 200, text: '0123456789' })
  t.match(await get({ headers: { 'if-match': '"2"' } }), { status: 412 })
  t.equal(asked.length, 1)
})

t.test('Vary: each combination has its answer, and at most 32 are kept', async t => {
  const { get, answerWith, engine } = setUp()
  for (const language of ['de', 'en']) {
    answerWith({ headers: { ...lasting, Vary: 'Accept-Language' }, body: language })
    await get({ headers: { 'accept-language': language } })
  }
  t.match(await get({ headers: { 'accept-language': 'de' } }), { result: 'HIT', text: 'de' })
  t.match(await get({ headers: { 'accept-language': 'en' } }), { result: 'HIT', text: 'en' })
  const before = engine.memory.usage.bytes
  for (let i = 0; i < 100; i++) await get({ headers: { 'accept-language': `x-${i}` } })
  t.ok(engine.memory.usage.bytes < before * 17)
  t.equal((await get({ headers: { 'accept-language': 'de' } })).result, 'MISS')
})

t.test('an answer that was asked for before a change is not stored after it', async t => {
  const { get, answerWith } = setUp()
  let finish: (canned: Canned) => void = () => undefined
  answerWith(() => new Promise(resolve => (finish = resolve)))
  const before = get()
  await new Promise(resolve => setImmediate(resolve))
  const finishOld = finish
  answerWith({ status: 204, body: '' })
  await get({ method: 'PUT' })
  finishOld({ headers: lasting, body: 'old' })
  t.match(await before, { text: 'old' }, 'who asked before gets it')
  answerWith({ headers: lasting, body: 'new' })
  t.match(await get(), { result: 'MISS', text: 'new' })
})

t.test('larger bodies pass through, and bodies that are cut off are stored by nobody', async t => {
  const { get, answerWith, engine } = setUp()
  async function* large() {
    for (let i = 0; i < 33; i++) yield Buffer.alloc(64 * 1024, 'a')
  }
  answerWith({ headers: lasting, body: large })
  const passed = await get()
  t.match(passed, { result: 'MISS', headers: { 'Cache-Status': 'svc; fwd=miss' } })
  t.equal(passed.text.length, 33 * 64 * 1024)
  async function* cut() {
    yield Buffer.from('half')
    throw new Error('cut off')
  }
  answerWith({ headers: lasting, body: cut })
  await t.rejects(get({ path: '/b' }), { message: 'cut off' })
  t.equal(engine.memory.usage.entries, 0)
})

t.test('the memory keeps its budget', async t => {
  const { get, answerWith, engine } = setUp({ policy: 'respect-origin' }, 200_000)
  answerWith({ headers: lasting, body: 'x'.repeat(5000) })
  for (let i = 0; i < 200; i++) {
    await get({ path: `/${i}` })
    if (engine.memory.usage.bytes > 200_000) t.fail(`${engine.memory.usage.bytes} bytes`)
  }
  t.ok(engine.memory.usage.evictions > 100)
})
