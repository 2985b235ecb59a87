/** Certificates by server name, the challenge of RFC 8737, and what is read of a connection before TLS. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { definePlugin } from 'svc/kernel'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import http from 'svc/plugins/http/index'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import { openPoints, seeded, startKernel } from 'svc/testing'
import t from 'tap'
import type { NamedCertificate } from '../api.ts'
import { helloBytesMax, parseClientHello } from '../client-hello.ts'
import tls from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-names-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const authority = createTestAuthority(folder)
const own = authority.issue(['own.test'])
const certsDir = join(folder, 'certs')
mkdirSync(certsDir)
writeFileSync(join(certsDir, 'public.crt'), own.chain)
writeFileSync(join(certsDir, 'private.key'), own.key)

/** What a source and a challenge answer, and whether a challenge waits. */
const named = new Map<string, NamedCertificate>()
const challenges = new Map<string, { certificate: string; key: string }>()
let findFails = false

const provider = definePlugin({
  name: 's3',
  requires: ['http', 'tls'],
  points: openPoints('s3.operation', 's3.observer'),
  setup({ contribute }) {
    contribute('http.mount', 's3', { listener: 's3', handler: ({ response }) => void response.end('served') })
    contribute('tls.source', 'test', {
      async find(name) {
        if (findFails) throw new Error('the documents cannot be read')
        return named.get(name)
      },
    })
    contribute('tls.challenge', 'test', {
      isPending: () => challenges.size > 0,
      find: async name => challenges.get(name),
    })
  },
})

const start = async (withOwn: boolean) => {
  const kernel = await startKernel({
    plugins: [iam, metrics, tls, http, provider],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      tls: withOwn ? { certsDir } : {},
    },
  })
  return { ...kernel, port: kernel.services.http.listeners().find(({ name }) => name === 's3')!.port }
}

function add(name: string, isExpired = false): NamedCertificate {
  const { chain, key } = authority.issue([name])
  const entry = { certificate: chain, key, fingerprint: `${name} ${named.size}`, isExpired }
  named.set(name, entry)
  return entry
}

function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('error', reject)
    socket.on('error', () => {})
  })
}

async function presented(port: number, servername?: string): Promise<string> {
  const socket = await handshake(port, { servername })
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return String(CN)
}

/** The bytes of a real hello. */
async function captureHello(options: object): Promise<Buffer> {
  return new Promise(resolve => {
    const server = createServer(socket => {
      socket.once('data', data => {
        socket.destroy()
        server.close()
        resolve(data)
      })
    }).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      connect({ port, host: '127.0.0.1', ...options }).on('error', () => {})
    })
  })
}

t.test('a hello is read wherever it is cut, and never beyond its bound', async t => {
  const hello = await captureHello({ servername: 'Www.Example.TEST', ALPNProtocols: ['h2', 'http/1.1'] })
  const whole = { state: 'complete', serverName: 'www.example.test', protocols: ['h2', 'http/1.1'] }
  t.same(parseClientHello(hello), whole)
  for (let length = 0; length < hello.length; length++) {
    assert.equal(parseClientHello(hello.subarray(0, length)).state, 'incomplete', `${length} bytes`)
  }
  const payload = hello.subarray(5)
  for (const size of [1, 7, 100]) {
    const records: Buffer[] = []
    for (let at = 0; at < payload.length; at += size) {
      const part = payload.subarray(at, at + size)
      records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
    }
    t.same(parseClientHello(Buffer.concat(records)), whole, `records of ${size} bytes`)
  }
  t.same(parseClientHello(await captureHello({})), { state: 'complete', serverName: undefined, protocols: [] })
  for (const text of [
    'GET / HTTP/1.1\r\n\r\n',
    '\x16\x02\x00\x00\x05',
    '\x16\x03\x01\x00\x00',
    '\x16\x03\x01\x00\x04\x02\x00\x00\x00',
  ]) {
    t.equal(parseClientHello(Buffer.from(text, 'latin1')).state, 'unreadable', JSON.stringify(text))
  }
  const endless = Buffer.alloc(helloBytesMax, 0)
  Buffer.from([22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xf0]).copy(endless)
  t.not(parseClientHello(endless).state, 'incomplete')
})

t.test('a damaged hello is never more than unreadable', async t => {
  const hello = await captureHello({ servername: 'a.test', ALPNProtocols: ['acme-tls/1'] })
  await seeded(t, async random => {
    for (let round = 0; round < 3000; round++) {
      const damaged = Buffer.from(hello)
      for (let count = 0; count < 4; count++) damaged[Math.floor(random.float() * damaged.length)] = random.bytes(1)[0]!
      const { state } = parseClientHello(damaged)
      assert.ok(['complete', 'incomplete', 'unreadable'].includes(state), `round ${round}: ${state}`)
    }
    t.pass('3000 damaged hellos')
  })
})

t.test(
  'by server name, before the certificate of the listener; what is replaced is presented at the next handshake',
  async t => {
    const server = await start(true)
    add('a.test')
    t.equal(await presented(server.port, 'a.test'), 'a.test')
    t.equal(await presented(server.port, 'A.TEST'), 'a.test')
    t.equal(await presented(server.port, 'b.test'), 'own.test')
    t.equal(await presented(server.port), 'own.test', 'without a name')
    const open = await handshake(server.port, { servername: 'a.test' })
    const before = named.get('a.test')
    const after = { ...add('a.test'), fingerprint: 'another' }
    named.set('a.test', after)
    const next = await handshake(server.port, { servername: 'a.test' })
    t.not(after.certificate, before?.certificate)
    t.equal(next.getPeerX509Certificate()?.toString().slice(0, 300), after.certificate.slice(0, 300))
    next.destroy()
    open.write('GET /b/k HTTP/1.1\r\nHost: a.test\r\n\r\n')
    t.match(String(await new Promise(resolve => open.once('data', resolve))), /200 OK/, 'an open connection stays')
    open.destroy()
    add('old.test', true)
    t.equal(await presented(server.port, 'old.test'), 'own.test', 'not an expired one, where there is another')
    findFails = true
    await t.rejects(handshake(server.port, { servername: 'a.test' }))
    findFails = false
    t.equal(await presented(server.port, 'a.test'), 'a.test', 'and the listener lives on')
    t.same(await server.stop(), [])
  },
)

t.test(
  'a client that comes back to another thread is known: session tickets outlive a change of certificate',
  async t => {
    const server = await start(true)
    const first = await handshake(server.port, { servername: 'a.test', maxVersion: 'TLSv1.2' })
    const session = first.getSession()
    first.destroy()
    writeFileSync(join(certsDir, 'public.crt'), own.chain)
    const again = await handshake(server.port, { servername: 'a.test', maxVersion: 'TLSv1.2', session })
    t.ok(again.isSessionReused())
    again.destroy()
    t.same(await server.stop(), [])
  },
)

t.test('acme-tls/1 alone gets the certificate of the challenge, and only while one is pending', async t => {
  const server = await start(true)
  const offer = { ALPNProtocols: ['acme-tls/1'] }
  await t.rejects(handshake(server.port, { servername: 'v.test', ...offer }), 'none is pending')
  const { chain, key } = authority.issue(['v.test'])
  challenges.set('v.test', { certificate: chain, key })
  const socket = await handshake(server.port, { servername: 'v.test', ...offer })
  t.equal(socket.alpnProtocol, 'acme-tls/1')
  t.equal(socket.getPeerCertificate().subject.CN, 'v.test')
  await new Promise(resolve => {
    socket.on('end', () => resolve(undefined))
    socket.resume()
  })
  await t.rejects(handshake(server.port, { servername: 'w.test', ...offer }), 'of another name')
  t.equal(await presented(server.port, 'a.test'), 'a.test', 'others are served meanwhile')
  const both = await handshake(server.port, { servername: 'v.test', ALPNProtocols: ['http/1.1', 'acme-tls/1'] })
  t.equal(both.alpnProtocol, 'http/1.1', 'who offers more is no authority')
  both.write('GET /b/k HTTP/1.1\r\nHost: v.test\r\n\r\n')
  t.match(String(await new Promise(resolve => both.once('data', resolve))), /200 OK/)
  both.destroy()
  challenges.clear()
  t.same(await server.stop(), [])
})

t.test('without a default certificate a listener refuses names without a certificate', async t => {
  const kernel = await start(false)
  const service = kernel.services.tls
  t.throws(() => service.contextOptions())
  const secure = createTlsServer(service.serverOptions(), socket => socket.end('hello'))
  const server = createServer(socket => service.admit(socket, () => void secure.emit('connection', socket)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  t.equal(await presented(port, 'a.test'), 'a.test')
  t.equal(await presented(port, 'old.test'), 'old.test', 'an expired one where there is no other')
  await t.rejects(handshake(port, { servername: 'b.test' }), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
  await t.rejects(handshake(port), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
  server.close()
  t.same(await kernel.stop(), [])
})
