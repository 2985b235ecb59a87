/** Live trace: filters, redaction, subscriptions within a thread and across threads, loss that is counted. */
import type { Threads } from 'svc/kernel'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t from 'tap'
import type { TraceFilter, TraceLine } from '../api.ts'
import { matches } from '../line.ts'
import { redactQuery, redactUrl } from '../redaction.ts'
import { createTraceService, type RunningTraceService } from '../service.ts'

const record: S3RequestRecord = {
  operation: 'GetObject',
  requestId: 'ID',
  method: 'GET',
  path: '/b/k',
  bucket: 'b',
  key: 'k',
  identity: { accessKey: 'admin', isRoot: true, ownerId: '', displayName: 'admin' },
  clientAddress: '192.0.2.1',
  userAgent: '',
  status: 200,
  errorCode: undefined,
  timeMs: Date.UTC(2026, 0, 1),
  durationMs: 5,
  receivedBytes: 1,
  sentBytes: 2,
}
const adminRecord = {
  ...record,
  operation: 'getInfo',
  listener: 'console',
  query: 'a=1',
  bucket: undefined,
} as unknown as HttpRequestRecord

/** Threads as the kernel connects them: messages arrive later, as copies. */
function createThreads(count: number): {
  threads: Threads[]
  handlers: Map<string, (payload: never, from: number) => unknown>[]
} {
  const handlers = Array.from({ length: count }, () => new Map<string, (payload: never, from: number) => unknown>())
  const threads = handlers.map(
    (own, index): Threads => ({
      index,
      workerCount: count - 1,
      isMain: index === 0,
      isFront: index > 0,
      handle: (name, handler) => void own.set(name, handler as never),
      call: async (target, name, payload) =>
        structuredClone(await handlers[target].get(name)?.(structuredClone(payload) as never, index)) as never,
      callOthers: async (name, payload) =>
        Promise.all(
          handlers
            .filter(other => other !== own)
            .map(async other => structuredClone(await other.get(name)?.(payload as never, index)) as never),
        ),
      post(target, name, payload) {
        const copy = structuredClone(payload)
        setImmediate(() => handlers[target].get(name)?.(copy as never, index))
      },
      onExit() {},
    }),
  )
  return { threads, handlers }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('filters look at the record', async t => {
  const table: [filter: TraceFilter, expected: boolean][] = [
    [{}, true],
    [{ types: ['s3'] }, true],
    [{ types: ['admin', 'rpc'] }, false],
    [{ operation: 'GetObject' }, true],
    [{ operation: 'Get*' }, true],
    [{ operation: 'Get' }, false],
    [{ operation: 'Put*' }, false],
    [{ bucket: 'b' }, true],
    [{ bucket: 'c' }, false],
    [{ statuses: ['200'] }, true],
    [{ statuses: ['5xx', '2XX'] }, true],
    [{ statuses: ['5xx', '403'] }, false],
    [{ errors: true }, false],
    [{ errors: false }, true],
    [{ minDurationMs: 5 }, true],
    [{ minDurationMs: 6 }, false],
    [{ types: ['s3'], bucket: 'b', errors: true }, false],
  ]
  for (const [filter, expected] of table) t.equal(matches(record, filter), expected, JSON.stringify(filter))
  t.equal(matches(adminRecord, { types: ['admin'] }), true)
  t.equal(matches(adminRecord, { bucket: 'b' }), false)
})

t.test('credentials never leave a query', async t => {
  const table: [query: string, shown: string][] = [
    ['', ''],
    ['prefix=a&delimiter=%2F&acl', 'prefix=a&delimiter=%2F&acl'],
    ['X-Amz-Signature=abc&x=1', 'X-Amz-Signature=*REDACTED*&x=1'],
    ['x-amz-credential=a%2Fb', 'x-amz-credential=*REDACTED*'],
    ['X-Amz-Security-Token=a=b', 'X-Amz-Security-Token=*REDACTED*'],
    ['X-Amz-Sign%61ture=abc', 'X-Amz-Sign%61ture=*REDACTED*'],
    ['Signature=a&AWSAccessKeyId=b&Expires=1', 'Signature=*REDACTED*&AWSAccessKeyId=*REDACTED*&Expires=1'],
    [
      'apikey=1&api_key=2&api-key=3&x-api-key=4',
      'apikey=*REDACTED*&api_key=*REDACTED*&api-key=*REDACTED*&x-api-key=*REDACTED*',
    ],
    [
      'auth=1&sig=2&jwt=3&session=4&sid=5',
      'auth=*REDACTED*&sig=*REDACTED*&jwt=*REDACTED*&session=*REDACTED*&sid=*REDACTED*',
    ],
    [
      'password=1&access_token=2&client_secret=3',
      'password=*REDACTED*&access_token=*REDACTED*&client_secret=*REDACTED*',
    ],
    ['continuation-token=abc', 'continuation-token=abc'],
    ['sig=&sig', 'sig=&sig'],
    ['%zz=1&%E0%A4%A=2', '%zz=1&%E0%A4%A=2'],
    ['a=1?X-Amz-Signature=abc&x=1', 'a=*REDACTED*&x=1'],
    ['a=1%26sig=abc', 'a=*REDACTED*'],
    ['url=https%3A%2F%2Fa%2Fb%3FX-Amz-Expires%3D1%26X-Amz-Signature%3Dabc', 'url=*REDACTED*'],
    ['url=https%253A%252F%252Fa%252Fb%253Fsi%2567%253Dabc%ff', 'url=*REDACTED*'],
    ['url=https%3A%2F%2Fa%2F%3Fpage%3D1%26sig%3D', 'url=https%3A%2F%2Fa%2F%3Fpage%3D1%26sig%3D'],
    ['prefix=day%3D1%2Ftoken%3D2%2F&marker=session=1', 'prefix=day%3D1%2Ftoken%3D2%2F&marker=session=1'],
  ]
  for (const [query, shown] of table) t.equal(redactQuery(query), shown, query)
  t.equal(redactUrl('https://a/b?sig=abc&x=1'), 'https://a/b?sig=*REDACTED*&x=1')
  t.equal(redactUrl('https://a/b'), 'https://a/b')
  const random = createSeededRandom(Number(process.env.SEED ?? Date.now() % 2 ** 31))
  for (let round = 0; round < 2000; round++) {
    const text = random.bytes(random.integer(40)).toString('latin1')
    const query = `${text}&X-Amz-Signature=hunter2&${text}`
    if (redactQuery(query).includes('hunter2')) t.fail(`seed ${random.seed}: ${JSON.stringify(query)}`)
  }
})

t.test('subscribers of this thread and of others get each line once, filtered where it arises', async t => {
  const clock = createFakeClock()
  const { threads } = createThreads(3)
  const services = threads.map((each, index) => createTraceService(each, clock, createSeededRandom(index)))
  const [main, first, second] = services
  const lines: TraceLine[] = []
  const subscription = main.subscribe({ operation: 'GetObject' }, line => lines.push(line))
  const local: TraceLine[] = []
  const other = first.subscribe({}, line => local.push(line))
  await turn()
  first.observe({ ...record, requestId: '1', query: 'sig=x' })
  second.observe({ ...record, requestId: '2', errorCode: 'SlowDown', status: 503 })
  second.observe({ ...record, requestId: '3', operation: 'PutObject' })
  main.observe({ ...record, requestId: '4' })
  main.observe({ ...adminRecord, requestId: '5' })
  t.same(
    lines.map(line => line.requestId),
    ['4'],
    'our own at once',
  )
  await clock.advance(100)
  await turn()
  t.same(lines.map(line => line.requestId).sort(), ['1', '2', '4'])
  t.same(local.map(line => line.requestId).sort(), ['1', '2', '3', '4', '5'])
  t.match(
    lines.find(line => line.requestId === '1'),
    { path: '/b/k?sig=*REDACTED*', user: 'admin', client: '192.0.2.1', type: 's3', bytesSent: 2 },
  )
  t.match(
    lines.find(line => line.requestId === '2'),
    { error: 'SlowDown', status: 503, time: '2026-01-01T00:00:00.000Z' },
  )
  t.match(
    local.find(line => line.requestId === '5'),
    { type: 'admin', operation: 'getInfo', path: '/b/k?a=1' },
  )

  for (let index = 0; index < 700; index++) second.observe(record)
  await clock.advance(100)
  await turn()
  t.equal(subscription.dropped, 200, 'what does not fit in a batch is counted')
  subscription.end()
  subscription.end()
  other.end()
  await turn()
  lines.length = 0
  for (const service of services) service.observe(record)
  await clock.advance(1000)
  await turn()
  t.same(lines, [])
  t.equal(clock.pending(), 0, 'nothing is left running')
})

t.test(
  'a thread that replaces a dead one serves the subscriptions, and receives no messages for its predecessor',
  async t => {
    const clock = createFakeClock()
    const { threads, handlers } = createThreads(2)
    const main = createTraceService(threads[0], clock, createSeededRandom(1))
    const worker = createTraceService(threads[1], clock, createSeededRandom(2))
    const seen: string[] = []
    main.subscribe({}, line => seen.push(line.requestId))
    const stale: string[] = []
    worker.subscribe({}, line => stale.push(line.requestId))
    await turn()
    handlers[1].clear()
    const successor: RunningTraceService = createTraceService(threads[1], clock, createSeededRandom(3))
    const fresh: string[] = []
    successor.subscribe({ errors: true }, line => fresh.push(line.requestId))
    await successor.start()
    successor.observe({ ...record, requestId: 'new' })
    main.observe({ ...record, requestId: 'main' })
    await clock.advance(100)
    await turn()
    await turn()
    t.same(seen, ['main', 'new'])
    t.same(fresh, [], 'lines for the dead are not for the living')
    main.observe({ ...record, requestId: 'again' })
    t.equal(clock.pending(), 0, 'and the dead subscription is forgotten')
  },
)
