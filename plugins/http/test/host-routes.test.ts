/** Hosts that somebody answers: the order of routes, the web listeners with nothing of the server's own, and 421. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { Exchange, HostRoute, RawHandler } from 'svc/plugins/http/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { connectRaw, startServer } from './server.ts'

const say =
  (text: string): RawHandler =>
  ({ response }) => {
    response.writeHead(200, ['Content-Length', String(text.length)])
    response.end(text)
  }

const site: HostRoute = {
  stage: 'host',
  listeners: ['s3', 'web', 'web-tls'],
  find: ({ host }) => (host.startsWith('www.example.test') ? say('site') : undefined),
}

const raw = async (port: number, request: string): Promise<string> => {
  const client = await connectRaw(port)
  await client.send(request)
  const answer = await client.closed()
  client.socket.destroy()
  return answer
}

const get = (host: string, path = '/') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

t.test('a route takes its host on every listener that it names; the others stay with the protocol', async t => {
  const server = await startServer({ config: { webAddress: '127.0.0.1:0' }, hostRoutes: [site] })
  const web = server.portOf('web')
  t.match(await raw(web, get('www.example.test')), /\r\n\r\nsite$/)
  t.match(await raw(web, get('WWW.Example.Test:8080')), /\r\n\r\nsite$/, 'hosts have no case')
  t.match(await raw(server.s3Port, get('www.example.test')), /\r\n\r\nsite$/)
  t.match(await raw(server.s3Port, get('s3.example.test', '/b/k')), /\r\n\r\nGET \/b\/k$/)
  t.equal(server.kernel.announcements.web, `127.0.0.1:${web}`)
  await server.stop()
})

t.test('nothing of the server is on a web listener', async t => {
  const server = await startServer({
    config: { webAddress: '127.0.0.1:0' },
    hostRoutes: [site],
    routes: {
      listeners: ['s3', 'console', 'web'],
      plugin(fastify, _options, done) {
        fastify.get('/svc/secret', async () => 'the metrics')
        done()
      },
    },
  })
  const web = server.portOf('web')
  t.match(
    await raw(server.s3Port, get('www.example.test', '/svc/secret')),
    /the metrics/,
    'on S3 it stays the server’s',
  )
  t.match(await raw(web, get('www.example.test', '/svc/secret')), /\r\n\r\nsite$/, 'here it is a path of the site')
  for (const host of ['unknown.test', '127.0.0.1', 'localhost', 'www.example.test.evil', '']) {
    const answer = await raw(web, get(host, '/svc/secret'))
    if (host === 'www.example.test.evil') continue
    t.match(answer, /^HTTP\/1\.1 421 Misdirected Request\r\n/, host)
    t.match(answer, /\r\nContent-Type: application\/problem\+json\r\n/, host)
    t.match(answer, /\r\nConnection: close\r\n/, host)
    t.match(answer, /"code":"misdirected_request"/, host)
    t.notMatch(answer, /the metrics/, host)
  }
  t.match(await raw(web, 'GET / HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 421 /, 'a request without a host')
  t.match(await raw(web, 'OPTIONS * HTTP/1.1\r\nHost: unknown.test\r\n\r\n'), /^HTTP\/1\.1 421 /)
  t.match(await raw(web, get('a', '/').replace('\r\n\r\n', '\r\nHost: www.example.test\r\n\r\n')), /^HTTP\/1\.1 400 /)
  await server.stop()
})

t.test(
  'challenges come before hosts, whichever plugin was first; routes with a path are asked for it alone',
  async t => {
    const asked: string[] = []
    const challenge: HostRoute = {
      stage: 'challenge',
      listeners: ['web'],
      pathPrefix: '/.well-known/acme-challenge/',
      find({ request }) {
        asked.push(request.url as string)
        return request.url === '/.well-known/acme-challenge/pending' ? say('token') : undefined
      },
    }
    const server = await startServer({ config: { webAddress: '127.0.0.1:0' }, hostRoutes: [site, challenge] })
    const web = server.portOf('web')
    const path = '/.well-known/acme-challenge/'
    t.match(await raw(web, get('www.example.test', `${path}pending`)), /\r\n\r\ntoken$/)
    t.match(await raw(web, get('unknown.test', `${path}pending`)), /\r\n\r\ntoken$/)
    t.match(await raw(web, get('www.example.test', `${path}other`)), /\r\n\r\nsite$/)
    t.match(await raw(web, get('unknown.test', `${path}other`)), /^HTTP\/1\.1 421 /)
    t.match(await raw(web, get('www.example.test', '/x')), /\r\n\r\nsite$/)
    t.same(
      asked,
      ['pending', 'pending', 'other', 'other'].map(token => path + token),
    )
    await server.stop()
  },
)

t.test('a route may wait, refuse a host on the S3 listener, and fail', async t => {
  const hosts: HostRoute = {
    stage: 'host',
    listeners: ['s3'],
    async find({ host }) {
      await Promise.resolve()
      if (host === 'broken.test') throw new Error('the password is hunter2')
      return host === 'foreign.test' ? 'misdirected' : undefined
    },
  }
  const server = await startServer({ hostRoutes: [hosts, { ...site, listeners: ['s3'] }] })
  t.match(await raw(server.s3Port, get('foreign.test')), /^HTTP\/1\.1 421 .*<Code>MisdirectedRequest<\/Code>/s)
  t.match(await raw(server.s3Port, get('www.example.test')), /\r\n\r\nsite$/)
  t.match(await raw(server.s3Port, get('other.test')), /\r\n\r\nGET \/$/)
  const broken = await raw(server.s3Port, get('broken.test'))
  t.match(broken, /^HTTP\/1\.1 500 /)
  t.notMatch(broken, /hunter2/)
  await server.stop()
})

t.test('a draining server takes nothing new for a host', async t => {
  const held: Exchange[] = []
  const slow: HostRoute = {
    stage: 'host',
    listeners: ['web'],
    find: () => exchange => void held.push(exchange),
  }
  const server = await startServer({ config: { webAddress: '127.0.0.1:0' }, hostRoutes: [slow] })
  const client = await connectRaw(server.portOf('web'))
  await client.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  while (held.length === 0) await new Promise(resolve => setImmediate(resolve))
  const stopping = server.stop()
  await client.send('GET /new HTTP/1.1\r\nHost: a\r\n\r\n')
  while (!held[0].draining) await new Promise(resolve => setImmediate(resolve))
  held[0].response.end('done')
  const answers = await client.closed()
  t.match(answers, /^HTTP\/1\.1 200 .*done/s)
  t.equal(held.length, 1)
  await stopping
})

t.test('web-tls speaks TLS with HTTP/2 and web stays plain beside a certificate', async t => {
  const folder = temporaryFolder(t)
  const names = ['-subj', '/CN=example', '-addext', 'subjectAltName=DNS:www.example.test']
  const files = ['-keyout', join(folder, 'private.key'), '-out', join(folder, 'public.crt')]
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  execFileSync('openssl', ['req', '-x509', '-nodes', '-days', '2', ...algorithm, ...names, ...files], {
    stdio: 'ignore',
  })
  const server = await startServer({
    config: { webAddress: '127.0.0.1:0', webTlsAddress: '127.0.0.1:0' },
    tls: { certsDir: folder },
    hostRoutes: [site],
  })
  t.match(await raw(server.portOf('web'), get('www.example.test')), /\r\n\r\nsite$/)
  const ca = readFileSync(join(folder, 'public.crt'))
  const session = connectHttp2(`https://127.0.0.1:${server.portOf('web-tls')}`, { ca, servername: 'www.example.test' })
  const ask = async (authority: string) => {
    const stream = session.request({ ':path': '/', ':authority': authority })
    const [headers] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'end')
    return headers[':status']
  }
  t.equal(await ask('www.example.test'), 200)
  t.equal(await ask('unknown.test'), 421)
  await once(session, 'close')
  await server.stop()
})

t.test('web-tls opens without a certificate; names without one are refused', async t => {
  const server = await startServer({ config: { webTlsAddress: '127.0.0.1:0' }, hostRoutes: [site] })
  const socket = connectTls({ port: server.portOf('web-tls'), host: '127.0.0.1', rejectUnauthorized: false })
  const [error] = await once(socket, 'error')
  t.equal((error as NodeJS.ErrnoException).code, 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME')
  await server.stop()
})

t.test('PROXY headers on the web listener', async t => {
  const addresses: string[] = []
  const route: HostRoute = {
    stage: 'host',
    listeners: ['web'],
    find: () => exchange => {
      addresses.push(exchange.clientAddress)
      exchange.response.end()
    },
  }
  const server = await startServer({
    config: { webAddress: '127.0.0.1:0', trustedProxies: ['127.0.0.0/8'], proxyProtocol: ['web'] },
    hostRoutes: [route],
  })
  await raw(server.portOf('web'), `PROXY TCP4 198.51.100.10 10.0.0.1 1234 80\r\n${get('a')}`)
  t.same(addresses, ['198.51.100.10'])
  t.equal(await raw(server.portOf('web'), get('a')), '', 'without a header the connection ends')
  t.match(await raw(server.s3Port, get('a')), /^HTTP\/1\.1 200 /, 'the others need none')
  await server.stop()
})
