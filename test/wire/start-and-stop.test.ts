/** How a server begins and ends, as balancers, supervisors and operators see it: the same with and without worker threads. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t, { type Test } from 'tap'
import { svcProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { accessKey, secretKey, startServer, type TestServer } from './server.ts'
import { createSignedClient, root } from './signed-client.ts'

const modes = ['0', '2']

const statusOf = async (address: string, path: string, method = 'GET') => {
  const answer = await fetch(`http://${address}${path}`, { method })
  return { status: answer.status, body: await answer.text() }
}

/** An upload whose last byte waits for `finish`. */
async function beginUpload(server: TestServer, path: string) {
  const host = `127.0.0.1:${server.port}`
  const { headers } = signRequest(root, {
    method: 'PUT',
    host,
    path,
    headers: { 'content-length': '2' },
    payload: 'UNSIGNED-PAYLOAD',
    nowMs: Date.now(),
  })
  const sent = request({
    host: '127.0.0.1',
    port: server.port,
    method: 'PUT',
    path,
    headers: { ...headers, expect: '100-continue' },
  })
  const answered = new Promise<number | undefined>(done => {
    sent.on('response', answer => answer.resume().on('end', () => done(answer.statusCode)))
    sent.on('error', () => done(undefined))
  })
  sent.flushHeaders()
  await new Promise(done => sent.once('continue', done))
  sent.write('1')
  return { answered, finish: () => sent.end('2') }
}

async function until<T>(look: () => Promise<T>, isWanted: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look()
    if (isWanted(found)) return found
    await delay(20)
  }
}

async function start(t: Test, environment: Record<string, string>): Promise<TestServer> {
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  await createSignedClient(server.port).send({ method: 'PUT', path: '/photos' })
  return server
}

for (const workers of modes) {
  t.test(
    `${workers} workers: from SIGTERM on both ports say that the server is draining, and what began ends well`,
    async t => {
      const server = await start(t, { SVC_WORKERS: workers })
      const console = String(server.startup.console)
      const upload = await beginUpload(server, '/photos/a')
      process.kill(server.pid, 'SIGTERM')
      for (const address of [console, `127.0.0.1:${server.port}`]) {
        const ready = await until(
          () => statusOf(address, '/svc/health/ready'),
          ({ status }) => status !== 200,
        )
        t.match(ready, { status: 503, body: /"status":"draining"/ })
      }
      t.match(await statusOf(console, '/api/v1/buckets/more', 'PUT'), { status: 503, body: /service_unavailable/ })
      t.match(await statusOf(`127.0.0.1:${server.port}`, '/photos/b', 'PUT'), { status: 503 })
      upload.finish()
      t.equal(await upload.answered, 200)
      t.equal(await server.ended, 0)
    },
  )

  t.test(`${workers} workers: requests that are cut off at the end of the stop make exit code 3`, async t => {
    const server = await start(t, { SVC_WORKERS: workers, SVC_STOP_TIMEOUT: '1s' })
    const upload = await beginUpload(server, '/photos/a')
    process.kill(server.pid, 'SIGTERM')
    t.equal(await server.ended, 3)
    t.equal(await upload.answered, undefined)
  })

  t.test(`${workers} workers: SIGHUP reads certificates again, SIGQUIT stops`, async t => {
    const certificates = selfSigned(t)
    const server = await startServer({ environment: { SVC_WORKERS: workers, SVC_CERTS_DIR: certificates } })
    t.teardown(() => server.remove())
    process.kill(server.pid, 'SIGHUP')
    await until(
      async () => server.log(),
      log => log.includes('certificate reloaded'),
    )
    process.kill(server.pid, 'SIGQUIT')
    t.equal(await server.ended, 0)
  })

  t.test(
    `${workers} workers: a pair that is refused is told, and so is a restart that would end the server`,
    async t => {
      const certificates = selfSigned(t)
      const server = await startServer({ environment: { SVC_WORKERS: workers, SVC_CERTS_DIR: certificates } })
      t.teardown(() => server.remove())
      const ca = readFileSync(join(certificates, 'public.crt'), 'utf8')
      const { call } = createAdminClient(server, { ca, servername: 'localhost' })
      const tlsOf = async () => (await call('GET', '/info')).tls
      t.match(await tlsOf(), { refusal: '', certificates: [{ daysLeft: 29 }] })
      const key = readFileSync(join(certificates, 'private.key'))
      writeFileSync(join(certificates, 'private.key'), readFileSync(join(selfSigned(t), 'private.key')))
      const why = 'private.key is not the key of the certificate in public.crt'
      // Each thread reads for itself.
      await until(
        () => Promise.all(Array.from({ length: 8 }, tlsOf)),
        all => all.every(({ refusal }) => refusal === why),
      )
      const { items } = await call('GET', '/certificates')
      t.match(items, [{ id: 'public.crt', refusal: why }])
      await t.rejects(call('POST', '/service/restart', {}), new RegExp(`409.*start_would_fail.*SVC_CERTS_DIR: ${why}`))
      writeFileSync(join(certificates, 'private.key'), key)
      await until(tlsOf, ({ refusal }) => refusal === '')
      rmSync(join(certificates, 'public.crt'))
      await t.rejects(call('POST', '/service/restart', {}), /409.*start_would_fail.*public\.crt is not there/)
      await call('POST', '/service/restart', { force: true })
      t.equal(await server.ended, 1)
    },
  )

  t.test(`${workers} workers: a restart is refused for what the configuration says by then`, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-configuration-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const [file, password] = [join(folder, 'svc.json'), join(folder, 'password')]
    writeFileSync(file, '{ "logLevel": "info" }')
    writeFileSync(password, secretKey)
    const server = await startServer({
      environment: {
        SVC_WORKERS: workers,
        SVC_CONFIG_FILE: file,
        SVC_ROOT_PASSWORD: '',
        SVC_ROOT_PASSWORD_FILE: password,
      },
    })
    t.teardown(() => server.remove())
    const { call } = createAdminClient(server)
    const refused: readonly (readonly [path: string, content: string, why: string])[] = [
      [file, '{ "logLevel": ', 'cannot be read: .*JSON'],
      [file, '{ "logLevle": "info" }', 'logLevle .*svc\\.json.* is unknown.*logLevel'],
      [file, '{ "logLevel": "loud" }', 'logLevel .*svc\\.json.* must be'],
      [file, '{ "certsDir": "/nowhere-at-all" }', 'tls: SVC_CERTS_DIR: '],
      [file, '{ "plugins": ["svc-plugin-gone"] }', 'svc-plugin-gone'],
      [
        file,
        '{ "plugins": ["svc/plugins/standard", { "disable": ["store"] }] }',
        'store.* cannot be disabled alone: .* leave out all of them\\."',
      ],
      [password, 'short', 'SVC_ROOT_PASSWORD_FILE .*at least 8'],
      [password, 'another-password', 'store: Secrets at rest are sealed under another root password'],
    ]
    for (const [path, content, why] of refused) {
      const before = readFileSync(path)
      writeFileSync(path, content)
      await t.rejects(call('POST', '/service/restart', {}), new RegExp(`409.*start_would_fail.*${why}`), content)
      writeFileSync(path, before)
    }
    await call('POST', '/service/restart', {})
    await until(
      async () => server.log(),
      log => log.split('"msg":"ready"').length === 3,
    )
  })

  t.test(`${workers} workers: while plugins start the ports are open and say so`, async t => {
    const { s3, console, go, child } = await startHeld(t, workers, 'after objects')
    const isThere = (address: string) => statusOf(address, '/svc/health/live').catch(() => ({ status: 0, body: '' }))
    for (const address of [s3, console]) {
      await until(
        () => isThere(address),
        ({ status }) => status === 200,
      )
      t.match(await statusOf(address, '/svc/health/ready'), { status: 503, body: /"status":"starting"/ })
      t.match(await statusOf(address, '/svc/health/cluster'), { status: 503, body: /"status":"starting"/ })
    }
    t.match(await statusOf(s3, '/photos'), { status: 503, body: /<Code>ServiceUnavailable<.*starting/ })
    t.match(await statusOf(console, '/api/v1/info'), { status: 503, body: /starting/ })
    go()
    await until(
      () => statusOf(console, '/svc/health/ready'),
      ({ status }) => status === 200,
    )
    t.match(await statusOf(s3, '/photos'), { status: 404, body: /<Code>NoSuchBucket</ }, 'S3 is served')
    child.kill('SIGTERM')
    t.equal(await new Promise(done => child.on('close', done)), 0)
  })

  t.test(`${workers} workers: with TLS, connections before the storage is open do not end the server`, async t => {
    const certificates = selfSigned(t)
    const { s3, console, go, child } = await startHeld(t, workers, 'before storage', { SVC_CERTS_DIR: certificates })
    const isReady = (address: string) => {
      if (child.exitCode !== null) throw new Error('The server has ended.')
      return tlsStatusOf(address, '/svc/health/ready')
    }
    for (const address of [s3, console]) {
      await until(
        () => isReady(address),
        status => status !== undefined,
      )
      for (let again = 0; again < 4; again++) t.equal(await isReady(address), 503)
    }
    go()
    // Each connection may come to another worker, and one that is not ready yet answers otherwise.
    let inARow = 0
    await until(
      async () => {
        inARow = (await isReady(console)) === 200 ? inARow + 1 : 0
        return inARow
      },
      count => count >= 4 * Math.max(1, Number(workers)),
    )
    t.equal(await tlsStatusOf(s3, '/photos'), 404)
    child.kill('SIGTERM')
    t.equal(await new Promise(done => child.on('close', done)), 0)
  })
}

/** A folder for SVC_CERTS_DIR. */
function selfSigned(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificates-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const pair = ['-keyout', join(folder, 'private.key'), '-out', join(folder, 'public.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  t.equal(spawnSync('openssl', ['req', '-x509', ...key, ...pair, '-subj', '/CN=localhost']).status, 0)
  return folder
}

/** Undefined where nobody listens. */
function tlsStatusOf(address: string, path: string): Promise<number | undefined> {
  const [host, port] = address.split(':')
  return new Promise(done => {
    const options = { host, port, path, servername: 'localhost', rejectUnauthorized: false, agent: false }
    requestTls(options, answer => {
      answer.resume()
      done(answer.statusCode)
    })
      .on('error', () => done(undefined))
      .end()
  })
}

/** A server one of whose plugins starts when `go` is called: those after it wait. */
async function startHeld(
  t: Test,
  workers: string,
  where: 'before storage' | 'after objects',
  environment: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-starting-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const gate = join(folder, 'go')
  const plugin = join(folder, 'slow.mjs')
  const requires = where === 'after objects' ? ['objects'] : ['http', 'tls']
  writeFileSync(
    plugin,
    `import { existsSync } from 'node:fs'
     const waiting = async () => { while (!existsSync(${JSON.stringify(gate)})) await new Promise(done => setTimeout(done, 20)) }
     export default { name: 'slow', requires: ${JSON.stringify(requires)}, setup: () => ({ start: waiting }) }`,
  )
  const [s3, console] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const child = spawn(process.execPath, [svcProgram, 'server', join(folder, 'drive')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      SVC_ROOT_USER: accessKey,
      SVC_ROOT_PASSWORD: secretKey,
      SVC_ADDRESS: s3,
      SVC_CONSOLE_ADDRESS: console,
      SVC_WORKERS: workers,
      SVC_LOG_LEVEL: 'error',
      // Those that require nothing of each other start in this order.
      SVC_PLUGINS: where === 'after objects' ? `svc/plugins/standard,${plugin}` : `${plugin},svc/plugins/standard`,
      ...environment,
    },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return { s3, console, child, go: () => writeFileSync(gate, '') }
}

function freePort(): Promise<number> {
  return new Promise(done => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => done(port))
    })
  })
}

t.test('a start reports the drives that it has created, once', async t => {
  const server = await startServer()
  t.teardown(() => server.remove())
  const made = () =>
    server
      .log()
      .split('\n')
      .filter(line => line.includes('made a new drive'))
      .map(line => JSON.parse(line).path)
  const first = made()
  t.ok(first.length > 0 && first.every(path => path.startsWith(server.folder)))
  t.equal(await server.stop(), 0)
  await server.start()
  t.same(made(), first)
})
