/** The client's address behind proxies: forwarding headers, and the PROXY protocol over real sockets. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { crc32c } from '@node-rs/crc32'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t from 'tap'
import { formatAddress, forwardedAddress, networksOf, parseListenAddress, plainAddress } from '../address.ts'
import { createProxies } from '../proxies.ts'
import { parseProxyHeader, readProxyHeader } from '../proxy-protocol.ts'
import { connectRaw, startServer } from './server.ts'

t.test('addresses are parsed and formatted uniformly', async t => {
  t.same(parseListenAddress(':9000'), { host: undefined, port: 9000 })
  t.same(parseListenAddress('[::1]:0'), { host: '::1', port: 0 })
  t.same(parseListenAddress('storage.test:80'), { host: 'storage.test', port: 80 })
  for (const text of ['', '9000', 'a:', 'a:x', 'a:65536', '::1:80', '[x]:80', '[::1]', 'a b:80', ':-1']) {
    t.type(parseListenAddress(text), 'string', text)
  }
  t.equal(formatAddress('::1', 80), '[::1]:80')
  t.equal(formatAddress(undefined, 80), ':80')
  t.same(networksOf('192.0.2.1'), [['192.0.2.1', 64]])
  t.same(networksOf('2001:db8:6:ab3::1'), [
    ['2001:db8:6:ab3::/64', 64],
    ['2001:db8:6:a00::/56', 56],
    ['2001:db8:6::/48', 48],
  ])
  t.same(networksOf('2001:db8::1'), [
    ['2001:db8:0:0::/64', 64],
    ['2001:db8:0:0::/56', 56],
    ['2001:db8:0::/48', 48],
  ])
  t.equal(plainAddress('::ffff:10.0.0.1'), '10.0.0.1')
  t.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
  const cases: [string, string | undefined][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:80', '192.0.2.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:80', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['unknown', undefined],
    ['_hidden', undefined],
    ['[2001:db8::1]x', undefined],
    ['[192.0.2.1]', undefined],
    ['', undefined],
    ['1.2.3', undefined],
  ]
  for (const [text, address] of cases) t.equal(forwardedAddress(text), address, JSON.stringify(text))
})

t.test('forwarding headers are trusted hop by hop, from the right', async t => {
  const trusted = ['10.0.0.0/8', '192.168.1.1', 'fd00::/8']
  const x = createProxies({ trusted, style: 'x-forwarded', trustHost: false })
  const xHost = createProxies({ trusted, style: 'x-forwarded', trustHost: true })
  const f = createProxies({ trusted, style: 'forwarded', trustHost: true })
  t.equal(x.isTrusted('10.1.2.3'), true)
  t.equal(x.isTrusted('192.168.1.2'), false)
  t.equal(x.isTrusted('fd12::1'), true)
  t.equal(x.isTrusted('not an address'), false)

  const xTable: [name: string, headers: Record<string, string>, address?: string, secure?: boolean][] = [
    ['nothing said', {}],
    ['one client', { 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
    ['a lie in front of the truth', { 'x-forwarded-for': '1.1.1.1, 198.51.100.7' }, '198.51.100.7'],
    ['two proxies', { 'x-forwarded-for': '198.51.100.7, 10.0.0.2' }, '198.51.100.7'],
    ['a client inside', { 'x-forwarded-for': '10.0.0.3, 10.0.0.2' }, '10.0.0.3'],
    ['an unreadable client', { 'x-forwarded-for': 'unknown, 10.0.0.2' }, '10.0.0.2'],
    ['nothing readable', { 'x-forwarded-for': 'unknown' }],
    ['with ports', { 'x-forwarded-for': '[2001:db8::1]:99, 10.0.0.2:1' }, '2001:db8::1'],
    ['too many hops', { 'x-forwarded-for': Array(33).fill('10.0.0.2').join() }],
    ['https', { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'HTTPS' }, '198.51.100.7', true],
    ['http', { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'http' }, '198.51.100.7', false],
    ['a scheme alone', { 'x-forwarded-proto': 'https' }, undefined, true],
    [
      'appended schemes, one per hop',
      { 'x-forwarded-for': '198.51.100.7, 10.0.0.2', 'x-forwarded-proto': 'https, http' },
      '198.51.100.7',
      true,
    ],
    [
      'a lie in front of the scheme',
      { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https, http' },
      '198.51.100.7',
      false,
    ],
    ['the other style is not read', { forwarded: 'for=198.51.100.7;proto=https' }],
  ]
  for (const [name, headers, address, secure] of xTable) {
    t.same(x.read(headers), { address, secure, host: undefined }, name)
  }
  const hostHeaders = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-host': 'Public.Test:443' }
  t.equal(x.read(hostHeaders).host, undefined)
  t.equal(xHost.read(hostHeaders).host, 'public.test:443')

  const fTable: [name: string, header: string, address?: string, secure?: boolean, host?: string][] = [
    ['one client', 'for=198.51.100.7;proto=https;host=A.test', '198.51.100.7', true, 'a.test'],
    ['IPv6, quoted', 'For="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17'],
    ['two proxies', 'for=198.51.100.7;proto=https, for=10.0.0.2;proto=http', '198.51.100.7', true],
    ['a lie in front of the truth', 'for=1.1.1.1;proto=https, for=198.51.100.7;proto=http', '198.51.100.7', false],
    ['hidden', 'for=_secret;proto=https', undefined, true],
    ['hidden behind a proxy', 'for=unknown, for=10.0.0.2', '10.0.0.2'],
    ['malformed', 'for=[2001:db8::1', undefined],
    ['empty', '', undefined],
  ]
  for (const [name, forwarded, address, secure, host] of fTable) {
    t.same(f.read({ forwarded }), { address, secure, host }, name)
  }
})

t.test('forwarding headers count only when the peer is trusted', async t => {
  const headers = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'p.test' }
  const trusting = await startServer({ config: { trustedProxies: ['127.0.0.0/8'], trustForwardedHost: true } })
  await (await fetch(`http://127.0.0.1:${trusting.s3Port}/`, { headers })).text()
  const [known] = trusting.exchanges
  t.same([known.clientAddress, known.secure, known.host], ['198.51.100.7', true, 'p.test'])
  await trusting.stop()
  const cautious = await startServer({ config: { trustedProxies: ['10.0.0.0/8'], trustForwardedHost: true } })
  await (await fetch(`http://127.0.0.1:${cautious.s3Port}/`, { headers })).text()
  const [unknown] = cautious.exchanges
  t.same([unknown.clientAddress, unknown.secure, unknown.host], ['127.0.0.1', false, `127.0.0.1:${cautious.s3Port}`])
  await cautious.stop()
})

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

function binaryHeader(command: number, family: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head[0] = 0x20 | command
  head[1] = family
  head.writeUInt16BE(body.length, 2)
  return Buffer.concat([signature, head, body])
}

const ipv4 = Buffer.from('c633640a0a00000104d21f90', 'hex') // 198.51.100.10:1234 -> 10.0.0.1:8080
const ipv6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.from('20010db8000000000000000000000002', 'hex'),
  Buffer.from('04d21f90', 'hex'),
])
const extension = (type: number, value: Buffer): Buffer => {
  const head = Buffer.alloc(3)
  head[0] = type
  head.writeUInt16BE(value.length, 1)
  return Buffer.concat([head, value])
}
const overTls = extension(0x20, Buffer.from([0x01, 0, 0, 0, 0]))

function withChecksum(wrong = 0): Buffer {
  const header = binaryHeader(1, 0x11, Buffer.concat([ipv4, extension(0x03, Buffer.alloc(4))]))
  header.writeUInt32BE((crc32c(header) ^ wrong) >>> 0, header.length - 4)
  return header
}

t.test('PROXY headers are parsed at any split', async t => {
  const good: [name: string, bytes: Buffer | string, address: string | undefined, port?: number, secure?: boolean][] = [
    ['v1 IPv4', 'PROXY TCP4 198.51.100.10 10.0.0.1 1234 8080\r\n', '198.51.100.10', 1234],
    ['v1 IPv6', 'PROXY TCP6 2001:DB8::1 2001:db8::2 1234 8080\r\n', '2001:db8::1', 1234],
    ['v1 mapped', 'PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n', '192.0.2.1', 1],
    ['v1 unknown', 'PROXY UNKNOWN\r\n', undefined],
    ['v1 unknown with addresses', 'PROXY UNKNOWN a b c d e f\r\n', undefined],
    ['v2 IPv4', binaryHeader(1, 0x11, ipv4), '198.51.100.10', 1234],
    ['v2 IPv6', binaryHeader(1, 0x21, ipv6), '2001:db8::1', 1234],
    ['v2 over TLS', binaryHeader(1, 0x11, Buffer.concat([ipv4, overTls])), '198.51.100.10', 1234, true],
    [
      'v2 with unknown extension',
      binaryHeader(1, 0x11, Buffer.concat([ipv4, extension(0xea, ipv6)])),
      '198.51.100.10',
      1234,
    ],
    ['v2 with checksum', withChecksum(), '198.51.100.10', 1234],
    ['v2 local', binaryHeader(0, 0x00, Buffer.alloc(0)), undefined],
    ['v2 local with addresses', binaryHeader(0, 0x11, ipv4), undefined],
    ['v2 unspecified', binaryHeader(1, 0x00, Buffer.from('abc')), undefined],
  ]
  for (const [name, bytes, address, port, secure = false] of good) {
    const header = Buffer.from(bytes)
    const whole = Buffer.concat([header, Buffer.from('GET / HTTP')])
    for (let cut = 0; cut < header.length; cut++) {
      if (parseProxyHeader(whole.subarray(0, cut)).state !== 'incomplete') t.fail(`${name}: decided after ${cut} bytes`)
    }
    if (name.includes('unspecified')) continue
    const source = address === undefined ? undefined : { address, port }
    t.same(parseProxyHeader(whole), { state: 'complete', bytes: header.length, source, secure }, name)
  }
  const bad: [name: string, bytes: Buffer | string][] = [
    ['no header', 'GET / HTTP/1.1\r\n'],
    ['v1 without end', `PROXY TCP4 ${'1'.repeat(120)}`],
    ['v1 with the wrong family', 'PROXY TCP4 2001:db8::1 10.0.0.1 1 2\r\n'],
    ['v1 with a bad port', 'PROXY TCP4 1.1.1.1 1.1.1.1 65536 2\r\n'],
    ['v1 with a missing field', 'PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n'],
    ['v1 with two spaces', 'PROXY TCP4  1.1.1.1 1.1.1.1 1 2\r\n'],
    ['v1 for UDP', 'PROXY UDP4 1.1.1.1 1.1.1.1 1 2\r\n'],
    ['v2 of another version', Buffer.concat([signature, Buffer.from([0x31, 0x11, 0, 12]), ipv4])],
    ['v2 with another command', binaryHeader(2, 0x11, ipv4)],
    ['v2 for UDP', binaryHeader(1, 0x12, ipv4)],
    ['v2 cut short', binaryHeader(1, 0x11, ipv4.subarray(0, 8))],
    ['v2 too long', Buffer.concat([signature, Buffer.from([0x21, 0x11, 0xff, 0xff])])],
    ['v2 with a broken extension', binaryHeader(1, 0x11, Buffer.concat([ipv4, Buffer.from([1, 0, 9, 1])]))],
    ['v2 with a wrong checksum', withChecksum(1)],
    ['nearly the signature', Buffer.from('0d0a0d0a000d0a515549540b', 'hex')],
  ]
  for (const [name, bytes] of bad) t.equal(parseProxyHeader(Buffer.from(bytes)).state, 'invalid', name)

  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const random = createSeededRandom(seed)
  const valid = good.map(([, bytes]) => Buffer.from(bytes))
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.concat([random.pick(valid), random.bytes(random.integer(20))])
    for (let flips = random.integer(4); flips > 0; flips--) bytes[random.integer(bytes.length)] = random.integer(256)
    const header = parseProxyHeader(bytes.subarray(0, random.integer(bytes.length + 1)))
    if (header.state === 'complete' && header.bytes > bytes.length) t.fail(`seed ${seed}: more bytes than there are`)
  }
})

const config = { trustedProxies: ['127.0.0.0/8'], proxyProtocol: ['s3', 'console'] }

t.test('a PROXY header in front of a request, at any split', async t => {
  const server = await startServer({ config })
  const headers: [Buffer | string, string][] = [
    ['PROXY TCP4 198.51.100.10 10.0.0.1 1234 8080\r\n', '198.51.100.10'],
    [binaryHeader(1, 0x21, Buffer.concat([ipv6, overTls])), '2001:db8::1'],
    [binaryHeader(0, 0x00, Buffer.alloc(0)), '127.0.0.1'],
  ]
  const request = Buffer.from('PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc')
  for (const [header, address] of headers) {
    const bytes = Buffer.concat([Buffer.from(header), request])
    const length = bytes.length - request.length
    for (const cuts of [[], [1], [length - 1], [length], [length + 1], [5, length + 20], [12, 16, length]]) {
      const client = await connectRaw(server.s3Port)
      let from = 0
      for (const cut of [...cuts, bytes.length]) {
        await client.send(bytes.subarray(from, cut))
        if (cut < bytes.length) await new Promise(resolve => setTimeout(resolve, 3))
        from = cut
      }
      await client.until('PUT /b')
      t.equal(server.exchanges.at(-1)?.clientAddress, address, `${address}, cut at ${cuts}`)
      await client.send('GET /next HTTP/1.1\r\nHost: a\r\n\r\n')
      await client.until('GET /next')
      t.equal(server.exchanges.at(-1)?.clientAddress, address, 'the whole connection speaks for that client')
      client.socket.destroy()
    }
  }
  const secure = server.exchanges.filter(exchange => exchange.clientAddress === '2001:db8::1')
  t.ok(
    secure.every(exchange => exchange.secure),
    'TLS that ended at the proxy',
  )
  const chained = await connectRaw(server.s3Port)
  await chained.send(
    'PROXY TCP4 127.0.0.9 127.0.0.1 1 2\r\nGET /c HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.5\r\n\r\n',
  )
  await chained.until('GET /c')
  t.equal(server.exchanges.at(-1)?.clientAddress, '203.0.113.5', 'a trusted source may forward in turn')
  chained.socket.destroy()
  for (const bytes of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'PROXY NONSENSE\r\n\r\n', Buffer.alloc(200, 13)]) {
    for (const port of [server.s3Port, server.consolePort]) {
      const client = await connectRaw(port)
      await client.send(bytes)
      t.equal(await client.closed(), '', 'closed without a word')
    }
  }
  t.ok(server.kernel.logs.some(line => line.level === 'warn' && /PROXY/.test(String(line.msg))))
  await server.stop()

  const strangers = await startServer({ config: { ...config, trustedProxies: ['10.0.0.0/8'] } })
  const client = await connectRaw(strangers.s3Port)
  t.equal(await client.closed(), '', 'an untrusted peer may not even send the header')
  await strangers.stop()
})

t.test('a missing PROXY header, and one from a client that disconnects', async t => {
  const clock = createFakeClock()
  const outcomes: unknown[] = []
  const server = createServer(socket => {
    readProxyHeader(socket, clock.after, 5_000, outcome => {
      outcomes.push(outcome)
      socket.destroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const [silent, leaving] = await Promise.all([connectRaw(port), connectRaw(port)])
  await silent.send('PROXY TCP4 1.1.1.1')
  await leaving.send('PROXY')
  leaving.socket.destroy()
  for (let tries = 0; clock.pending() !== 1 && tries < 9000; tries++)
    await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(clock.pending(), 1, 'who has left is not waited for')
  await clock.advance(4_999)
  t.same(outcomes, [])
  await clock.advance(1)
  await silent.closed()
  t.same(outcomes, [{ ok: false, reason: 'no PROXY header in time' }])
  await new Promise(resolve => server.close(resolve))
})

t.test('a PROXY header in front of TLS', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-http-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(folder, 'private.key')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const certificate = ['-x509', '-nodes', '-days', '2', '-out', join(folder, 'public.crt')]
  execFileSync('openssl', ['req', ...key, ...names, ...certificate], { stdio: 'ignore' })
  const server = await startServer({ config, tls: { certsDir: folder } })
  for (const protocol of ['h2', 'http/1.1']) {
    const raw = connect(server.s3Port, '127.0.0.1')
    raw.write('PROXY TCP4 198.51.100.10 10.0.0.1 1234 8080\r\n')
    const socket = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: [protocol] })
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
    t.equal(socket.alpnProtocol, protocol)
    if (protocol === 'http/1.1') {
      socket.write('GET /over-tls HTTP/1.1\r\nHost: a\r\n\r\n')
      await new Promise(resolve => socket.once('data', resolve))
    } else {
      const { connect: connectHttp2 } = await import('node:http2')
      const session = connectHttp2('https://127.0.0.1', { createConnection: () => socket })
      const stream = session.request({ ':path': '/over-h2' })
      await new Promise(resolve => stream.on('data', () => {}).once('end', resolve))
      session.destroy()
    }
    const exchange = server.exchanges.at(-1)
    t.equal(exchange?.clientAddress, '198.51.100.10', protocol)
    t.equal(exchange?.secure, true)
    raw.destroy()
  }
  await server.stop()
})
