/** Requests to places outside: which addresses, what answers and failures become, that nothing hangs and nothing tells secrets. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAdmin } from 'svc/plugins/admin/testing'
import t, { type Test } from 'tap'
import { blockProblem, createAddressRules } from '../addresses.ts'
import type { HttpClientOptions, HttpClientTls } from '../api.ts'
import { HttpClientError } from '../error.ts'
import { createTestHttpClient, makeCertificates, startReceiver } from '../testing.ts'

const timeoutMs = 2000
const options: HttpClientOptions = { purpose: 'test', reach: 'private', timeoutMs }
const noTls: HttpClientTls = { authoritiesFile: '', certificateFile: '', keyFile: '', isVerified: true }

async function failureOf(asked: Promise<unknown>): Promise<HttpClientError> {
  const failure = await asked.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  )
  if (!(failure instanceof HttpClientError)) throw failure
  return failure
}

/** A server of bytes; stopped when the test ends. */
async function startTcp(t: Test, onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`
}

t.test('which addresses may be connected to, in every form that they have', t => {
  const rules = createAddressRules([])
  const never: Record<string, readonly string[]> = {
    'a link-local address': [
      '169.254.169.254',
      '169.254.0.1',
      'fe80::1',
      'fe80::1%eth0',
      'febf::1',
      '::ffff:169.254.169.254',
      '::ffff:a9fe:a9fe',
      '::ffff:0:169.254.169.254',
      '::169.254.169.254',
      '64:ff9b::169.254.169.254',
      '64:ff9b:1::169.254.169.254',
      '64:ff9b:1:a9fe:a9:fe00::',
      '64:ff9b:1:a9fe:a9:fe00:808:808',
      '2002:a9fe:a9fe::1',
      '2001:0:a9fe:a9fe::1',
      '2001:0:102:304:0:0:5601:5601',
      'fd12::5efe:a9fe:a9fe',
      '2001:db9::200:5efe:169.254.169.254',
    ],
    'an unspecified address': ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '64:ff9b::'],
    'a multicast address': ['224.0.0.1', '239.255.255.250', 'ff02::1', '::ffff:224.0.0.1'],
    'a reserved address': ['240.0.0.1', '255.255.255.255'],
    'the address of a metadata service': ['fd00:ec2::254', 'fd20:ce::254', '100.100.100.200', '168.63.129.16'],
    'not an address': ['', 'hook.test', '1.2.3', '0x7f.1', '[::1]'],
  }
  for (const [what, addresses] of Object.entries(never)) {
    for (const address of addresses) {
      t.equal(rules.refusal(address, 'private'), what, address)
      t.ok(rules.refusal(address, 'public'), address)
    }
  }
  const homes = [
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '100.64.0.1',
    'fd12::1',
    '::ffff:127.0.0.1',
  ]
  for (const address of homes) {
    t.equal(rules.refusal(address, 'private'), undefined, address)
    t.ok(rules.refusal(address, 'public'), `${address} is not public`)
  }
  for (const address of [
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::8.8.8.8',
    '64:ff9b:1:808:8:800::',
    '169.253.0.1',
  ]) {
    t.equal(rules.refusal(address, 'public'), undefined, address)
  }
  const wider = createAddressRules(['169.254.7.0/24', 'fe80::/10', '10.0.0.1'])
  t.equal(wider.refusal('169.254.7.1', 'private'), undefined)
  t.equal(wider.refusal('::ffff:169.254.7.1', 'private'), undefined)
  t.ok(wider.refusal('169.254.8.1', 'private'))
  t.equal(wider.refusal('fe80::5', 'public'), undefined)
  t.equal(wider.refusal('10.0.0.1', 'public'), undefined)
  t.ok(wider.refusal('10.0.0.2', 'public'))
  t.equal(blockProblem('10.0.0.0/8'), undefined)
  for (const wrong of ['10.0.0.0/33', '::/129', 'x', '10.0.0.0/8/8', '10.0.0.0/', '']) t.ok(blockProblem(wrong), wrong)
  t.end()
})

t.test('URLs that cannot be requested are refused before a request', t => {
  const { urlProblem } = createTestHttpClient(t)
  const metadata = [
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '0251.0376.0251.0376',
    '0xa9.254.0xa9fe',
    '169.254.43518',
    '１６９.254.169.254',
    '169.254.169.254.',
    '[::ffff:a9fe:a9fe]',
    '[fd00:ec2::254]',
    '[64:ff9b::a9fe:a9fe]',
  ]
  for (const host of metadata) t.match(urlProblem(`http://${host}/latest`, 'private'), /^must not be/, host)
  for (const url of [
    '',
    'hook',
    '/hook',
    'ftp://h/',
    'file:///etc/passwd',
    'http://u:p@h/',
    'http://u@h/',
    'http://h/#f',
  ]) {
    t.match(urlProblem(url, 'private'), /^must /, url)
  }
  t.equal(urlProblem('http://127.0.0.1:9/x?y=1', 'private'), undefined)
  t.match(urlProblem('http://127.0.0.1:9/x?y=1', 'public'), /loopback/)
  t.match(urlProblem('http://0x7f.1/', 'public'), /loopback/)
  t.equal(urlProblem('http://127.0.0.1/', 'public', ['127.0.0.0/8']), undefined)
  t.equal(urlProblem('https://hooks.example.com/', 'public'), undefined)
  t.equal(createTestHttpClient(t, {}, ['169.254.169.254']).urlProblem('http://2852039166/', 'private'), undefined)
  t.end()
})

t.test('the addresses of a name are checked when it is connected', async t => {
  const receiver = await startReceiver(t)
  const httpClient = createTestHttpClient(t, {
    'hook.test': ['127.0.0.1'],
    'metadata.test': ['169.254.169.254'],
    'mapped.test': ['::ffff:169.254.169.254'],
    'mixed.test': ['169.254.169.254', 'fe80::1', '127.0.0.1'],
    'nothing.test': [],
  })
  const client = httpClient.client(options)
  const at = (host: string) => ({ url: `http://${host}:${receiver.port}/hook?secret=s3cret`, body: '{}' })
  t.equal((await client.request(at('hook.test'))).status, 204)
  t.equal((await client.request(at('mixed.test'))).status, 204, 'of several those that may')
  const refused = ['metadata.test', 'mapped.test', '169.254.169.254', '2852039166', '[::ffff:a9fe:a9fe]', '0.0.0.0']
  for (const host of refused) {
    const { reason, message } = await failureOf(client.request(at(host)))
    t.equal(reason, 'address', host)
    t.notMatch(message, /s3cret/)
  }
  t.match(await failureOf(client.request(at('nothing.test'))), { reason: 'unreachable' })
  t.match(await failureOf(client.request(at('unknown.test'))), { reason: 'unreachable', message: /does not resolve/ })
  t.equal(receiver.requests.length, 2)
  t.equal(httpClient.looked.filter(name => name === 'hook.test').length, 1, 'one lookup for one connection')
  const inside = httpClient.client({ ...options, reach: 'public' })
  for (const host of ['hook.test', '127.0.0.1', 'mixed.test']) {
    t.match(await failureOf(inside.request(at(host))), { reason: 'address' }, host)
  }
  const allowed = httpClient.client({ ...options, reach: 'public', allowedNetworks: ['127.0.0.1/32'] })
  t.equal((await allowed.request(at('hook.test'))).status, 204)
  t.same(new Set(httpClient.results), new Set(['2xx', 'address', 'unreachable']))
})

t.test('connections are kept, answers are bounded, redirects are answers', async t => {
  const receiver = await startReceiver(t)
  const client = createTestHttpClient(t).client({ ...options, connectionsMax: 1 })
  const { url } = receiver
  receiver.answer = (_request, response) => response.writeHead(200, { 'x-a': 'b' }).end('hello')
  for (let i = 0; i < 5; i++)
    t.equal((await client.request({ url, body: '{"ä":1}', headers: { 'x-b': 'c' } })).status, 200)
  t.equal(receiver.connections(), 1)
  t.match(receiver.requests[4], { method: 'POST', path: '/hook', body: '{"ä":1}', headers: { 'x-b': 'c' } })
  const read = await client.request({ url, answerBytesMax: 5 })
  t.match(read, { status: 200, headers: { 'x-a': 'b' } })
  t.equal(read.body.toString(), 'hello')
  t.equal(receiver.requests.at(-1)?.method, 'GET')
  t.match(await failureOf(client.request({ url, answerBytesMax: 4 })), { reason: 'answer' })
  receiver.answer = (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end()
  const before = receiver.requests.length
  t.equal((await client.request({ url, body: '{}' })).status, 302)
  t.equal(receiver.requests.length, before + 1, 'nobody follows it')
  receiver.answer = (_request, response) => {
    response.writeHead(200)
    const fill = () => {
      while (!response.destroyed && response.write('x'.repeat(65536)));
    }
    response.on('drain', fill).on('error', () => {})
    fill()
  }
  t.equal((await client.request({ url, body: '{}' })).status, 200, 'an answer without end is not waited for')
  receiver.answer = (_request, response) => void response.writeHead(200).write('the first half')
  t.equal((await client.request({ url, body: '{}' })).status, 200)
  t.match(await failureOf(client.request({ url, body: '{}', answerBytesMax: 100 })), { reason: 'timeout' })
})

t.test('a connection that was kept and has ended meanwhile costs nothing where a request may be repeated', async t => {
  let requests = 0
  const url = await startTcp(t, socket => {
    let served = 0
    socket.on('data', () => {
      requests++
      if (++served === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      else socket.destroy()
    })
  })
  const client = createTestHttpClient(t).client({ ...options, connectionsMax: 1 })
  for (let i = 0; i < 4; i++) t.equal((await client.request({ url, body: 'x', isRepeatable: true })).status, 204)
  t.equal(requests, 7, 'each but the first was sent a second time')
  t.match(await failureOf(client.request({ url, body: 'x' })), { reason: 'unreachable' })
})

t.test('a request ends in time with a reason, for any behaviour of the server', async t => {
  const httpClient = createTestHttpClient(t)
  const client = httpClient.client({ ...options, timeoutMs: 300 })
  const halves: Record<string, readonly [string | undefined, string, RegExp]> = {
    'says nothing': [undefined, 'timeout', /no answer within 300 ms/],
    'closes at once': ['', 'unreachable', /without an answer/],
    'sends garbage': ['\x00\xff garbage\r\n\r\n', 'answer', /is not HTTP/],
    'sends half a head': ['HTTP/1.1 200 OK\r\ncontent-', 'unreachable', /without an answer/],
    'sends headers without end': [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`, 'answer', /more headers/],
  }
  for (const [what, [bytes, reason, words]] of Object.entries(halves)) {
    const url = await startTcp(t, socket => {
      socket.once('data', () => bytes !== undefined && socket.end(bytes, 'latin1'))
    })
    const failure = await failureOf(
      client.request({ url: `${url}?key=s3cret`, body: 'b0dy', headers: { a: 'header' } }),
    )
    t.equal(failure.reason, reason, what)
    t.match(failure.message, words, what)
    t.notMatch(failure.message, /s3cret|b0dy|header\b(?!s)/, what)
  }
  const closed = await startTcp(t, () => {})
  const controller = new AbortController()
  const asked = failureOf(client.request({ url: closed, signal: controller.signal }))
  setTimeout(() => controller.abort(), 20)
  t.match(await asked, { reason: 'aborted' })
  t.match(await failureOf(client.request({ url: closed, signal: AbortSignal.abort() })), { reason: 'aborted' })
  const underWay = failureOf(client.request({ url: closed }))
  await client.close()
  await client.close()
  t.match(await underWay, { reason: 'closed' })
  t.match(await failureOf(client.request({ url: closed })), { reason: 'closed' })
  const other = httpClient.client(options)
  t.match(await failureOf(other.request({ url: 'http://127.0.0.1:1/' })), {
    message: /127\.0\.0\.1:1 refuses connections/,
  })
})

t.test('TLS: trust, names, our certificate, files that are renewed, wrong or no files', async t => {
  const files = makeCertificates(t)
  const tls = { key: readFileSync(files.server.key), cert: readFileSync(files.server.certificate) }
  const ca = readFileSync(files.authority)
  const receiver = await startReceiver(t, { ...tls, ca, requestCert: true, rejectUnauthorized: true })
  const httpClient = createTestHttpClient(t, { 'hook.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] })
  const ask = (change: Partial<HttpClientTls> | undefined, url = receiver.url) =>
    httpClient.client({ ...options, tls: change && { ...noTls, ...change } }).request({ url, body: '{}' })
  const own = { certificateFile: files.client.certificate, keyFile: files.client.key }
  const trusted = { authoritiesFile: files.authority, ...own }
  t.equal((await ask(trusted)).status, 204)
  t.equal(receiver.requests[0]?.clientName, 'svc-client')
  t.equal((await ask(trusted, `https://hook.test:${receiver.port}/`)).status, 204)
  t.match(await failureOf(ask(trusted, `https://other.test:${receiver.port}/`)), {
    reason: 'tls',
    message: /another name/,
  })
  t.match(await failureOf(ask(own)), { reason: 'tls', message: /not trusted/ })
  t.equal((await ask({ ...own, isVerified: false })).status, 204)
  t.match(await failureOf(ask({ authoritiesFile: files.authority })), { reason: /tls|unreachable/ })
  t.match(await failureOf(ask(undefined)), { reason: 'tls' })
  t.match(await failureOf(ask(trusted, receiver.url.replace('https', 'http'))), { reason: /unreachable|answer/ })

  const folder = mkdtempSync(join(tmpdir(), 'svc-outbound-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, 'root-password-s3cret')
  const damaged = join(folder, 'damaged')
  writeFileSync(damaged, '-----BEGIN CERTIFICATE-----\ns3cret\n-----END CERTIFICATE-----\n')
  // States no size, and has gigabytes.
  const endless = '/proc/self/pagemap'
  const wrong = [secretFile, damaged, join(folder, 'missing'), folder, '/dev/zero', endless]
  // One sentence: whoever sets the path learns of no file whether it exists.
  for (const [field, others, sentence] of [
    ['authoritiesFile', [files.server.key], 'the file of the authorities cannot be read, or holds no PEM certificate'],
    ['certificateFile', [files.server.key], 'the file of the certificate cannot be read, or holds no PEM certificate'],
    ['keyFile', [files.authority], 'the file of the key of the certificate cannot be read, or holds no PEM key'],
  ] as const) {
    for (const path of [...wrong, ...others]) {
      const { reason, message } = await failureOf(ask({ ...trusted, [field]: path }))
      t.same([reason, message.replace(/^[0-9.:]+: /, '')], ['tls', sentence], path)
    }
  }

  const renewed = join(folder, 'ca.pem')
  copyFileSync(makeCertificates(t).authority, renewed)
  const client = httpClient.client({ ...options, tls: { ...noTls, ...trusted, authoritiesFile: renewed } })
  const request = { url: receiver.url, body: '{}' }
  t.match(await failureOf(client.request(request)), { message: /not trusted/ })
  copyFileSync(files.authority, renewed)
  t.equal((await client.request(request)).status, 204, 'after a failure files are read again')
})

t.test('the plugin: configuration, metrics, real names', async t => {
  const receiver = await startReceiver(t)
  await t.rejects(startAdmin({ config: { 'http-client': { allowedNetworks: ['nowhere'] } } }), /nowhere/)
  const { kernel, s3Port, stop } = await startAdmin({
    config: { prometheus: { authType: 'public' }, 'http-client': { allowedNetworks: ['169.254.1.0/24'] } },
  })
  t.teardown(stop)
  const { httpClient } = kernel.services
  t.equal(httpClient.urlProblem('http://169.254.1.1/', 'private'), undefined)
  const client = httpClient.client(options)
  t.equal((await client.request({ url: `http://localhost:${receiver.port}/` })).status, 204)
  t.match(await failureOf(client.request({ url: 'http://169.254.169.254/' })), { reason: 'address' })
  const scraped = await (await fetch(`http://127.0.0.1:${s3Port}/svc/metrics/v1/node`)).text()
  t.match(scraped, /svc_outbound_requests_total\{purpose="test",result="2xx".*\} 1/)
  t.match(scraped, /svc_outbound_requests_total\{purpose="test",result="address".*\} 1/)
  await stop()
  t.match(await failureOf(client.request({ url: receiver.url })), { reason: 'closed' })
})
