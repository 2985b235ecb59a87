/** Scrapes over HTTP: who may, what is in them, and the token that `svc prometheus generate` prints. */
import { createSecretKey } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import type { CliIo } from 'svc/kernel'
import http from 'svc/plugins/http/index'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import tls from 'svc/plugins/tls/index'
import { createFakeClock, startKernel, type TestKernel } from 'svc/testing'
import t from 'tap'
import prometheus from '../index.ts'

const password = 'change-me-please'
const nowMs = Date.UTC(2026, 5, 1)

interface Server {
  readonly kernel: TestKernel
  readonly base: Readonly<Record<'s3' | 'console', string>>
}

async function start(authType?: string): Promise<Server> {
  const kernel = await startKernel({
    plugins: [iam, metrics, prometheus, tls, http],
    config: {
      iam: { rootUser: 'admin', rootPassword: password },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      prometheus: authType === undefined ? {} : { authType },
    },
    ports: { clock: createFakeClock(nowMs) },
  })
  const base = { s3: '', console: '' }
  for (const { name, port } of kernel.services.http.listeners()) base[name as 's3'] = `http://127.0.0.1:${port}`
  return { kernel, base }
}

async function generate(kernel: TestKernel, ...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const command = kernel.point('cli.command').get('prometheus')
  let out = ''
  let err = ''
  const stream = (take: (text: string) => void) =>
    ({ write: (text: string) => take(text) }) as unknown as NodeJS.WritableStream
  const io: CliIo = {
    stdout: stream(text => {
      out += text
    }),
    stderr: stream(text => {
      err += text
    }),
    env: {},
  }
  const code = (await command?.run(argv, io)) ?? -1
  return { code, out, err }
}

const tokenOf = (text: string): string => /credentials: (\S+)/.exec(text)?.[1] ?? ''

t.test('a scrape needs a token that the root secret has signed', async t => {
  const { kernel, base } = await start()
  const status = async (authorization?: string, url = `${base.s3}/svc/metrics/v1/node`): Promise<number> => {
    const answer = await fetch(url, authorization === undefined ? {} : { headers: { authorization } })
    await answer.text()
    return answer.status
  }
  const printed = await generate(kernel, 'generate', '--expiry', '1h', '--target', 'storage.test:9000', '--tls')
  t.equal(printed.code, 0)
  t.match(printed.out, /scheme: https/)
  t.match(printed.out, /targets: \['storage.test:9000'\]/)
  t.notMatch(printed.out, password)
  const token = tokenOf(printed.out)
  t.equal(await status(`Bearer ${token}`), 200)
  t.equal(await status(`bearer ${token}`, `${base.console}/svc/metrics/v1/node`), 200)
  t.equal(await status(`Bearer ${token}`, `${base.s3}/svc/metrics/v1/cluster`), 200)
  t.equal(await status(undefined, `${base.s3}/svc/metrics/v1/bucket`), 403)

  const sign = (secret: string, claims: object, alg = 'HS512'): Promise<string> =>
    new SignJWT(claims as Record<string, unknown>)
      .setProtectedHeader({ alg })
      .sign(
        createSecretKey(
          Buffer.from(secret.padEnd(64, '\0').slice(0, Math.max(64, secret.length))).subarray(0, secret.length),
        ),
      )
  const exp = nowMs / 1000 + 60
  const good = { sub: 'admin', iss: 'prometheus', exp }
  t.equal(await status(`Bearer ${await sign(password, good)}`), 200, 'what others sign by the same rules is accepted')
  const refused: [name: string, authorization: string | undefined][] = [
    ['nothing', undefined],
    ['empty', ''],
    ['another scheme', `Basic ${token}`],
    ['no token', 'Bearer x'],
    ['another secret', `Bearer ${await sign('another-secret', good)}`],
    ['another user', `Bearer ${await sign(password, { ...good, sub: 'nobody' })}`],
    ['no user', `Bearer ${await sign(password, { iss: 'prometheus', exp })}`],
    ['no expiry', `Bearer ${await sign(password, { sub: 'admin', iss: 'prometheus' })}`],
    ['expired', `Bearer ${await sign(password, { ...good, exp: nowMs / 1000 - 1 })}`],
    ['another issuer', `Bearer ${await sign(password, { ...good, iss: 'x' })}`],
    ['a weaker algorithm', `Bearer ${await sign(password.padEnd(32, 'x'), good, 'HS256')}`],
    ['no signature', `Bearer ${new UnsecuredJWT(good).encode()}`],
    [
      'a changed claim',
      `Bearer ${token.replace(/\.[^.]+\./, `.${Buffer.from(JSON.stringify({ ...good, exp: exp * 2 })).toString('base64url')}.`)}`,
    ],
    ['too long', `Bearer ${'x'.repeat(5000)}.x.x`],
  ]
  for (const [name, authorization] of refused) t.equal(await status(authorization), 403, name)
  const answer = await fetch(`${base.s3}/svc/metrics/v1/node`)
  t.match(await answer.json(), { code: 'access_denied', status: 403 })

  await (kernel.ports.clock as ReturnType<typeof createFakeClock>).advance(3_600_001)
  t.equal(await status(`Bearer ${token}`), 403, 'after its expiry')
  t.equal((await generate(kernel)).code, 2)
  t.equal((await generate(kernel, 'generate', '--expiry', '4000d')).code, 2)
  t.equal((await generate(kernel, 'generate', '--target', 'a b')).code, 2)
  await t.rejects(generate(kernel, 'generate', '--nonsense'), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' })
  await kernel.stop()
})

t.test('the families of plugins, process and node', async t => {
  const { kernel, base } = await start('public')
  t.notMatch((await generate(kernel, 'generate')).out, /credentials/)
  const counted = kernel.services.metrics.counter({ name: 'svc_test_total', help: 'Test.', labels: ['kind'] })
  counted.inc({ kind: 'a' }, 2)
  kernel.services.metrics.gauge({ name: 'svc_test_value', help: 'Test.', collect: async gauge => gauge.set(7) })
  // Two plugins, each with values of its own, which begins by taking away its former ones.
  for (const target of ['events', 'audit']) {
    const options = { name: 'svc_test_pending', help: 'Test.', labels: ['target'] }
    kernel.services.metrics.gauge({
      ...options,
      async collect(gauge) {
        gauge.reset()
        await undefined
        gauge.set({ target }, target.length)
      },
    })
    kernel.services.metrics.counter({ ...options, name: 'svc_test_sent_total' }).inc({ target }, 3)
  }
  const taken = (name: string, labels: string[]) => () => kernel.services.metrics.counter({ name, help: '', labels })
  t.throws(taken('svc_test_pending', ['target']), /is another one/, 'a gauge is no counter')
  t.throws(taken('svc_test_sent_total', ['other']), /is another one/, 'with other labels')
  const answer = await fetch(`${base.s3}/svc/metrics/v1/node`)
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  const value = (name: string): number => {
    const line = text.split('\n').find(candidate => candidate.startsWith(name) && !candidate.startsWith('#'))
    return Number(line?.split(' ').at(-1))
  }
  const expected: [string, number][] = [
    ['svc_s3_requests_inflight', 0],
    ['svc_test_total{kind="a"', 2],
    ['svc_test_value', 7],
    ['svc_test_pending{target="events"', 6],
    ['svc_test_pending{target="audit"', 5],
    ['svc_test_sent_total{target="events"', 3],
    ['svc_test_sent_total{target="audit"', 3],
    ['svc_node_info{version="0.0.0-test"', 1],
    ['svc_node_uptime_seconds', 0],
    ['process_start_time_seconds', nowMs / 1000],
  ]
  for (const [name, number] of expected) t.equal(value(name), number, name)
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_heap_size_used_bytes']) {
    t.ok(value(name) > 0, name)
  }
  const families = text.split('\n').filter(line => line.startsWith('# TYPE '))
  t.equal(new Set(families).size, families.length, 'each family once')
  t.ok(
    text.split('\n').every(line => line === '' || line.startsWith('#') || line.includes('server="')),
    'labelled by node',
  )
  await kernel.stop()
})
