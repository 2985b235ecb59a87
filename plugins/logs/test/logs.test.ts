/** The log over the Admin API: what was written, what comes, filters, and what is too much. */
import { get, type IncomingMessage } from 'node:http'
import { rootPassword, rootUser, startAdmin, type TestAdmin, userSecret } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { createFakeClock, createSystemPorts, startKernel } from 'svc/testing'
import t, { type Test } from 'tap'
import type { LogLine } from '../api.ts'
import logs from '../index.ts'
import { LastLines, ringLinesMax } from '../ring.ts'

interface Stream {
  readonly answer: IncomingMessage
  readonly lines: LogLine[]
  /** Resolves with the first line that the condition holds for. */
  until(condition: (line: LogLine) => boolean): Promise<LogLine>
  close(): void
}

function open(t: Test, { port }: TestAdmin, query: string): Promise<Stream> {
  const path = '/api/v1/logs'
  const host = `127.0.0.1:${port}`
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const { headers } = signRequest(signer, { method: 'GET', host, path, query, headers: {}, nowMs: Date.now() })
  return new Promise((done, fail) => {
    const sent = get({ host: '127.0.0.1', port, path: `${path}?${query}`, headers, agent: false }, answer => {
      const lines: LogLine[] = []
      let rest = ''
      answer.setEncoding('utf8')
      answer.on('data', text => {
        const events = (rest + text).split('\n\n')
        rest = events.pop()!
        for (const event of events) {
          const data = /^event: log\n[\s\S]*^data: (.*)$/m.exec(event)?.[1]
          if (data !== undefined) lines.push(JSON.parse(data))
        }
      })
      answer.on('error', () => {})
      t.teardown(() => sent.destroy())
      done({
        answer,
        lines,
        async until(condition) {
          for (;;) {
            const found = lines.find(condition)
            if (found !== undefined) return found
            await new Promise(resolve => setTimeout(resolve, 5))
          }
        },
        close: () => sent.destroy(),
      })
    })
    sent.on('error', fail)
  })
}

async function start(t: Test): Promise<TestAdmin> {
  const server = await startAdmin()
  t.teardown(() => server.stop())
  return server
}

t.test('the last lines come first, then each as it is written', async t => {
  const server = await start(t)
  const { log } = server.kernel
  for (let i = 0; i < 5; i++) log.info({ plugin: 'shop', i }, 'before')
  const stream = await open(t, server, 'component=shop&last=3')
  t.equal(stream.answer.headers['content-type'], 'text/event-stream')
  log.warn({ plugin: 'shop', requestId: 'R1', err: new Error('no bread') }, 'after')
  const last = await stream.until(({ msg }) => msg === 'after')
  t.match(last, { level: 'warn', component: 'shop', requestId: 'R1', error: 'no bread', stack: /no bread\n/ })
  t.match(last.time, /^\d{4}-\d\d-\d\dT/)
  t.ok(last.node)
  t.same(
    stream.lines.slice(0, 3).map(({ i }) => i),
    [2, 3, 4],
  )
  t.equal(stream.lines.length, 4)
})

t.test('levels and components', async t => {
  const server = await start(t)
  const { log } = server.kernel
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({ plugin: 'shop' }, level)
  log.error({ plugin: 'other' }, 'not of the shop')
  log.error({}, 'of nobody')
  const warnings = await open(t, server, 'level=warn&component=shop')
  await warnings.until(({ msg }) => msg === 'error')
  t.same(
    warnings.lines.map(({ msg }) => msg),
    ['warn', 'error'],
  )
  const kernel = await open(t, server, 'component=kernel&level=error')
  t.match(await kernel.until(({ msg }) => msg === 'of nobody'), { component: 'kernel' })
  const plain = await open(t, server, 'audit=false&last=1000')
  const audit = await open(t, server, 'component=audit&last=1000')
  await server.signed({ path: '/api/v1/buckets/missing' })
  t.match(await audit.until(({ api }) => api === 'getBucket'), { component: 'audit', status: 404, msg: 'audit' })
  log.info({ plugin: 'shop' }, 'behind the audit')
  await plain.until(({ msg }) => msg === 'behind the audit')
  t.notOk(
    plain.lines.some(({ component }) => component === 'audit'),
    'audit records are left out',
  )
  t.ok(plain.lines.some(({ msg }) => msg === 'of nobody'))
  const none = await open(t, server, 'component=shop&last=0')
  log.info({ plugin: 'shop' }, 'the first')
  await none.until(({ msg }) => msg === 'the first')
  t.equal(none.lines.length, 1)
})

t.test('callers without the right and invalid parameters are refused', async t => {
  const server = await start(t)
  const user = { accessKey: 'ada', secretKey: userSecret, policyNames: ['readwrite'] }
  t.equal((await server.signed({ method: 'POST', path: '/api/v1/users', body: user })).status, 201)
  t.equal((await server.signedBy('ada', userSecret)({ path: '/api/v1/logs' })).status, 403)
  t.equal((await server.anonymous({ path: '/api/v1/logs' })).status, 401)
  for (const query of ['level=loud', 'last=-1', 'last=1001', 'last=many', 'node=elsewhere', 'since=1h']) {
    t.match(await server.signed({ path: `/api/v1/logs?${query}` }), { status: 400, json: { code: 'invalid_argument' } })
  }
})

t.test('at most 256 at once beside as many traces; a place is free again when a client goes', async t => {
  const server = await start(t)
  const streams = await Promise.all(Array.from({ length: 256 }, () => open(t, server, 'component=none&last=0')))
  t.match(await server.signed({ path: '/api/v1/logs' }), { status: 429, json: { code: 'too_many_requests' } })
  streams.pop()!.close()
  let again = await open(t, server, 'component=none&last=0')
  while (again.answer.statusCode === 429) again = await open(t, server, 'component=none&last=0')
  t.equal(again.answer.statusCode, 200)
})

t.test('records of requests do not displace other lines, and memory is bounded', async t => {
  const lines = new LastLines()
  const audit = '{"level":"info","time":"2026-01-01T00:00:00.000Z","plugin":"audit","component":"audit"}\n'
  lines.push('{"msg":"disk failed"}\n')
  for (let i = 0; i < 5000; i++) lines.push(audit)
  const texts = lines.texts()
  t.equal(texts[0], '{"msg":"disk failed"}\n')
  t.equal(texts.length, 1 + ringLinesMax)
  for (let i = 0; i < 100; i++) lines.push(`{"msg":"${'x'.repeat(100_000)}"}\n`)
  t.ok(lines.texts().filter(text => text !== audit).length <= 20)
})

t.test('a slow subscriber loses lines and gets their number', async t => {
  const clock = createFakeClock()
  const kernel = await startKernel({ plugins: [logs], ports: { ...createSystemPorts(), clock } })
  t.teardown(() => kernel.stop())
  const seen: LogLine[] = []
  const subscription = kernel.services.logs.subscribe({ component: 'shop' }, 0, line => seen.push(line))
  for (let i = 0; i < 2500; i++) kernel.log.info({ plugin: 'shop' }, 'line')
  await clock.advance(100)
  t.equal(seen.length + subscription.dropped, 2500)
  t.ok(subscription.dropped > 0)
  subscription.end()
  kernel.log.info({ plugin: 'shop' }, 'nobody is told')
  await clock.advance(100)
  t.equal(
    seen.some(({ msg }) => msg === 'nobody is told'),
    false,
  )
})
