/** Certificates: checked as pairs, served, replaced while connections are open, and never replaced by something broken. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { definePlugin } from 'svc/kernel'
import type { HttpMount } from 'svc/plugins/http/api'
import http from 'svc/plugins/http/index'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import { createFakeClock, openPoints, startKernel, type TestKernel } from 'svc/testing'
import t from 'tap'
import tls from '../index.ts'
import { checkKeyPair, readKeyPair } from '../key-pair.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'))
t.teardown(() => rmSync(folder, { recursive: true }))

function createPair(name: string, ...options: string[]): { certificate: string; key: string } {
  const key = join(folder, `${name}.key`)
  const certificate = join(folder, `${name}.crt`)
  const algorithm = options.length > 0 ? options : ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}.test,IP:127.0.0.1`]
  const rest = ['-x509', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', ...algorithm, ...names, ...rest], { stdio: 'ignore' })
  return { certificate, key }
}

const first = createPair('first')
const second = createPair('second', '-newkey', 'rsa:2048')

/** As certificate managers do it: write beside, then rename over. */
function install(directory: string, certificate: string, key: string): void {
  writeFileSync(join(directory, 'new.crt'), execFileSync('cat', [certificate]))
  writeFileSync(join(directory, 'new.key'), execFileSync('cat', [key]))
  renameSync(join(directory, 'new.crt'), join(directory, 'public.crt'))
  renameSync(join(directory, 'new.key'), join(directory, 'private.key'))
}

function createDirectory(pair: { certificate: string; key: string }): string {
  const directory = mkdtempSync(join(folder, 'certs-'))
  install(directory, pair.certificate, pair.key)
  return directory
}

async function start(
  certsDir: string,
  handler: HttpMount['handler'],
  tlsConfig: Record<string, unknown> = {},
  httpConfig: Record<string, unknown> = {},
): Promise<TestKernel & { port: number }> {
  const protocol = definePlugin({
    name: 's3',
    requires: ['http'],
    points: openPoints('s3.operation', 's3.observer'),
    setup({ contribute }) {
      contribute('http.mount', 's3', { listener: 's3', handler })
    },
  })
  const kernel = await startKernel({
    plugins: [iam, metrics, tls, http, protocol],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', ...httpConfig },
      tls: { certsDir, ...tlsConfig },
    },
  })
  const listener = kernel.services.http.listeners().find(({ name }) => name === 's3')
  return { ...kernel, port: listener?.port ?? 0 }
}

function handshake(port: number, options: object = {}): Promise<TLSSocket & { peer: PeerCertificate }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    socket.once('secureConnect', () => resolve(Object.assign(socket, { peer: socket.getPeerCertificate() })))
    socket.once('error', reject)
    socket.on('error', () => {})
  })
}

async function subjectAt(port: number): Promise<string> {
  const socket = await handshake(port)
  const { CN } = socket.peer.subject
  socket.destroy()
  return String(CN)
}

const answerMethod: HttpMount['handler'] = ({ request, response, secure, host }) => {
  response.writeHead(200, ['X-Secure', String(secure), 'X-Host', host])
  response.end(`${request.httpVersion} ${request.method} ${request.url}`)
}

t.test('an unusable pair is refused with the reason, and without its content', async t => {
  const directory = createDirectory(first)
  const pair = await readKeyPair(directory)
  t.match(pair.info, { name: 'public.crt', domains: ['first.test'], ips: ['127.0.0.1'], subject: /CN=first/ })
  t.match(pair.info.notAfter, /^\d{4}-\d\d-\d\dT/)
  t.match(pair.info.fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  const other = await readKeyPair(createDirectory(second))
  t.throws(() => checkKeyPair(pair.certificate, other.key, 'a.crt', 'a.key'), {
    code: 'certificate_unusable',
    message: /not the key of/,
  })
  t.throws(() => checkKeyPair('x', pair.key, 'a.crt', 'a.key'), { message: 'a.crt is not a PEM certificate' })
  t.throws(() => checkKeyPair(pair.certificate, 'secret', 'a.crt', 'a.key'), {
    message: 'a.key is not an unencrypted PEM private key',
  })
  await t.rejects(readKeyPair(join(folder, 'nowhere')), {
    code: 'certificate_unusable',
    message: /public\.crt is not there: put/,
  })
  await t.rejects(start('relative/path', answerMethod), { message: /tls.certsDir.*absolute path/ })
  await t.rejects(start(join(folder, 'nowhere'), answerMethod), { message: /public\.crt is not there: put/ })
  const inspect = async (certsDir?: string) => {
    const kernel = await startKernel({ plugins: [tls, metrics], config: { tls: { certsDir } }, until: 'set-up' })
    return kernel.inspect()
  }
  const nothing = { problems: [], notLookedAt: [], plan: [] }
  t.match(await inspect(join(folder, 'nowhere')), {
    ...nothing,
    problems: [/^tls: SVC_CERTS_DIR.*public\.crt is not there/],
  })
  t.same(await inspect(directory), nothing)
})

t.test('one port speaks HTTP/1.1 and HTTP/2', async t => {
  const server = await start(createDirectory(first), answerMethod)
  const session = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false })
  const stream = session.request({ ':path': '/b/a%2F../k?x' })
  const [headers, body] = await new Promise<[Record<string, unknown>, string]>((resolve, reject) => {
    let head: Record<string, unknown> = {}
    let text = ''
    stream.on('response', received => {
      head = received
    })
    stream.on('data', data => {
      text += data
    })
    stream.on('end', () => resolve([head, text]))
    stream.on('error', reject)
  })
  t.equal(body, '2.0 GET /b/a%2F../k?x')
  t.match(headers, { ':status': 200, server: 'svc', 'x-secure': 'true', 'x-host': `localhost:${server.port}` })
  t.match(headers['x-amz-request-id'], /^[0-9A-F]{16}$/)
  const health = session.request({ ':path': '/svc/nothing' })
  const status = await new Promise(resolve => health.on('response', answer => resolve(answer[':status'])))
  t.equal(status, 404, 'Fastify answers over HTTP/2 too')
  health.resume()
  for (const [host, expected] of [
    [`LOCALHOST:${server.port}`, 200],
    ['elsewhere.test', 400],
  ] as const) {
    const named = session.request({ ':path': '/b/a', ':authority': `localhost:${server.port}`, host })
    named.resume()
    const answered = await new Promise(resolve => named.on('response', answer => resolve(answer[':status'])))
    t.equal(answered, expected, `host ${host} beside the authority`)
  }
  session.close()

  const socket = await handshake(server.port)
  socket.write('GET /old HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n')
  let text = ''
  for await (const data of socket) text += data
  t.match(text, /^HTTP\/1\.1 200 OK.*X-Secure: true.*1\.1 GET \/old/s)
  const plain = await new Promise<string>(resolve => {
    import('node:net').then(({ connect: connectTcp }) => {
      const tcp = connectTcp(server.port, '127.0.0.1', () => tcp.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
      tcp.on('error', () => {})
      tcp.on('close', () => resolve('closed'))
    })
  })
  t.equal(plain, 'closed', 'plain HTTP on a TLS port is closed')
  t.equal(await subjectAt(server.port), 'first')
  t.same(await server.stop(), [])
})

t.test('the oldest version is the configured one', async t => {
  const modern = await start(createDirectory(first), answerMethod, { tlsMinVersion: '1.3' })
  await t.rejects(handshake(modern.port, { maxVersion: 'TLSv1.2' }))
  const socket = await handshake(modern.port)
  t.equal(socket.getProtocol(), 'TLSv1.3')
  socket.destroy()
  t.equal(modern.services.tls.minVersion, '1.3')
  await modern.stop()
  const usual = await start(createDirectory(first), answerMethod)
  const older = await handshake(usual.port, { maxVersion: 'TLSv1.2' })
  t.equal(older.getProtocol(), 'TLSv1.2')
  older.destroy()
  await t.rejects(handshake(usual.port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }))
  await usual.stop()
})

t.test('a new pair is taken over, a broken one is not, open connections stay', async t => {
  const directory = createDirectory(first)
  const server = await start(directory, answerMethod, { reloadInterval: 300 })
  const open = await handshake(server.port)
  t.equal(open.peer.subject.CN, 'first')
  const until = async (name: string): Promise<string> => {
    for (let tries = 0; tries < 1800; tries++) {
      if ((await subjectAt(server.port)) === name) return name
      await delay(50)
    }
    return subjectAt(server.port)
  }
  const logged = (level: string): number =>
    server.logs.filter(line => line.plugin === 'tls' && line.level === level).length

  install(directory, second.certificate, second.key)
  t.equal(await until('second'), 'second')
  t.equal(server.services.tls.certificates()[0].domains[0], 'second.test')

  install(directory, first.certificate, second.key)
  for (let tries = 0; tries < 1800 && logged('error') === 0; tries++) await delay(50)
  t.ok(logged('error') > 0, 'a key that does not fit is reported')
  t.equal(await subjectAt(server.port), 'second', 'and the old pair stays')

  rmSync(join(directory, 'private.key'))
  await delay(500)
  t.equal(await subjectAt(server.port), 'second', 'so it does when a file is gone')

  install(directory, first.certificate, first.key)
  t.equal(await until('first'), 'first', 'and the next good pair is taken')

  open.write('GET /still HTTP/1.1\r\nHost: a\r\n\r\n')
  const text = await new Promise(resolve => open.once('data', data => resolve(String(data))))
  t.match(text, /200 OK/)
  open.destroy()
  t.notMatch(JSON.stringify(server.logs), /PRIVATE KEY/)
  await server.stop()
})

t.test('HTTP/2: a reader that stops is let go, draining lets a stream finish and takes no new ones', async t => {
  let closed = 0
  const arrival = Promise.withResolvers<() => void>()
  const server = await start(
    createDirectory(first),
    exchange => {
      const { request, response } = exchange
      if (request.url === '/held') arrival.resolve(() => void response.end('held'))
      else if (request.url === '/endless') {
        const chunk = Buffer.alloc(65536)
        const pump = (): void => {
          while (!response.destroyed && response.write(chunk));
        }
        response.on('drain', pump)
        response.on('close', () => closed++)
        pump()
      } else answerMethod(exchange)
    },
    {},
    { sendTimeout: 300, bodyTimeout: 300, keepAliveTimeout: 600 },
  )
  const stalled = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false })
  stalled.on('error', () => {})
  const endless = stalled.request({ ':path': '/endless' })
  endless.on('error', () => {})
  endless.pause()
  for (let tries = 0; closed === 0 && tries < 1800; tries++) await delay(50)
  t.equal(closed, 1, 'the stalled connection was closed')
  stalled.destroy()

  const busy = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false })
  busy.on('error', () => {})
  const shut = busy.request({ ':path': '/endless' })
  shut.on('error', () => {})
  shut.pause()
  const beat = setInterval(() => busy.request({ ':path': '/beat' }).resume(), 50)
  for (let tries = 0; closed === 1 && tries < 1800; tries++) await delay(50)
  clearInterval(beat)
  t.equal(closed, 2, 'a stream that takes nothing is reset while others move')
  t.equal(busy.destroyed, false, 'and its connection lives on')
  busy.destroy()

  const session = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false })
  const held = session.request({ ':path': '/held' })
  let text = ''
  held.on('data', data => {
    text += data
  })
  const ended = new Promise(resolve => held.on('end', resolve))
  const release = await arrival.promise
  const goaway = new Promise(resolve => session.once('goaway', resolve))
  const drained = server.drain()
  await goaway
  release()
  await ended
  t.equal(text, 'held')
  t.same(await drained, [])
  t.same(await server.stop(), [])
})

t.test('the metrics follow the certificate', async t => {
  const directory = createDirectory(first)
  const clock = createFakeClock(Date.now())
  const config = { tls: { certsDir: directory, reloadInterval: 3_600_000 } }
  const kernel = await startKernel({ plugins: [metrics, tls], config, ports: { clock } })
  const values = async () => {
    const text = await kernel.services.metrics.scrape()
    const value = (series: string) =>
      Number(new RegExp(`^svc_tls_server_certificate_${series},.*\\} (\\S+)$`, 'm').exec(text)?.[1])
    return {
      expirySeconds: value('expiry_seconds{certificate="public.crt"'),
      success: value('reloads_total{result="success"'),
      failure: value('reloads_total{result="failure"'),
    }
  }
  const begin = await values()
  t.ok(begin.expirySeconds > 86_400 && begin.expirySeconds <= 2 * 86_400)
  t.match(begin, { success: 0, failure: 0 })
  await clock.advance(60_000)
  t.equal((await values()).expirySeconds, begin.expirySeconds - 60)
  const reloaded = async (result: 'success' | 'failure') => {
    await clock.advance(3_600_000)
    for (let tries = 0; tries < 9000 && (await values())[result] === 0; tries++) await delay(10)
    t.equal((await values())[result], 1, result)
  }
  writeFileSync(join(directory, 'public.crt'), 'nothing')
  await reloaded('failure')
  install(directory, second.certificate, second.key)
  await reloaded('success')
  await kernel.stop()
})
