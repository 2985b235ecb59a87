/** The page and its files, as a browser asks for them. The application itself is tested in a browser: test/wire/console/. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { definePlugin } from 'svc/kernel'
import http from 'svc/plugins/http/index'
import tls from 'svc/plugins/tls/index'
import { startKernel, temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { createConsoleRoutes } from '../routes.ts'

const template =
  '<base href="{{base}}" /><meta name="csp-nonce" content="{{nonce}}" /><meta name="session" content="{{session}}" /><meta name="version" content="{{version}}" />'
const script = 'console.log("the application")'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

async function start(t: Test, { isBuilt = true, publicUrl }: { isBuilt?: boolean; publicUrl?: string } = {}) {
  const folder = temporaryFolder(t)
  if (isBuilt) {
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), template)
    writeFileSync(join(folder, 'assets/index-12345678.js'), script)
    writeFileSync(join(folder, 'assets/index-12345678.js.br'), brotliCompressSync(script))
  }
  const plugin = definePlugin({
    name: 'console',
    setup({ ports, contribute }) {
      const plugin = createConsoleRoutes({
        folder: pathToFileURL(`${folder}/`),
        publicUrl,
        random: ports.random,
        version: '1.2.3',
      })
      contribute('http.routes', 'console', { listeners: ['console'], plugin })
      return {}
    },
  })
  const kernel = await startKernel({
    plugins: [tls, http, plugin],
    config: { http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' } },
  })
  t.teardown(kernel.stop)
  const { port } = kernel.services.http.listeners().find(({ name }) => name === 'console')!
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<Answer>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, headers, method }, answer => {
        const parts: Buffer[] = []
        answer.on('data', part => parts.push(part))
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts) }),
        )
      })
        .on('error', reject)
        .end()
    })
}

t.test('the page is the same at every path, is never cached, and trusts nothing but itself', async t => {
  const ask = await start(t)
  const nonces = new Set<string>()
  for (const path of ['/', '/buckets', '/buckets/photos?prefix=a%2F', '/sign-in', '/apiary']) {
    const { status, headers, body } = await ask(path)
    t.equal(status, 200, path)
    t.match(headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    const policy = String(headers['content-security-policy'])
    const nonce = /'nonce-([^']+)'/.exec(policy)![1]!
    t.match(body.toString(), `content="${nonce}"`)
    nonces.add(nonce)
    t.match(policy, "default-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, 'unsafe')
  }
  t.equal(nonces.size, 5, 'a nonce is used once')
})

t.test('what belongs to the API, or is no file, is not the page', async t => {
  const ask = await start(t)
  for (const path of ['/api', '/api/v1/nothing', '/svc/nothing', '/assets/none-12345678.js']) {
    const { status, headers } = await ask(path)
    t.equal(status, 404, path)
    t.equal(headers['content-type'], 'application/problem+json', path)
  }
  t.equal((await ask('/assets/../index.html')).status, 403)
  t.equal((await ask('/buckets', {}, 'POST')).status, 404)
  // A client of S3 with the wrong address.
  const signed = { authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request' }
  t.equal((await ask('/', signed)).status, 404)
  t.equal((await ask('/photos/a?X-Amz-Signature=1')).status, 404)
  t.equal((await ask('/', { authorization: 'Basic YTpi' })).status, 200)
})

t.test('whatever is no page shows nothing but text to a browser, and stands in no frame', async t => {
  const ask = await start(t)
  const answers: readonly (readonly [path: string, status: number, method?: string])[] = [
    ['/api', 404],
    ['/svc/nothing', 404],
    ['/assets/none-12345678.js', 404],
    ['/assets/../index.html', 403],
    ['/assets/index-12345678.js', 200],
    ['/%zz', 400],
    ['/buckets', 404, 'POST'],
    ['/buckets', 404, 'PROPFIND'],
    [`/${'x'.repeat(100_000)}`, 431],
  ]
  for (const [path, status, method] of answers) {
    const answer = await ask(path, {}, method)
    t.equal(answer.status, status, path.slice(0, 40))
    t.match(
      answer.headers,
      {
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      },
      path.slice(0, 40),
    )
  }
  t.match((await (await start(t, { isBuilt: false }))('/')).headers, { 'x-frame-options': 'DENY' })
})

t.test('files are cached for a year, and come compressed to whoever takes that', async t => {
  const ask = await start(t)
  const plain = await ask('/assets/index-12345678.js')
  t.equal(plain.body.toString(), script)
  const packed = await ask('/assets/index-12345678.js', { 'accept-encoding': 'gzip, br' })
  t.equal(packed.headers['content-encoding'], 'br')
  t.equal(brotliDecompressSync(packed.body).toString(), script)
  for (const { status, headers } of [plain, packed]) {
    t.equal(status, 200)
    t.match(headers, {
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-type': /^(text|application)\/javascript/,
      vary: /accept-encoding/i,
    })
  }
})

t.test('a proxy may have put the console below a path', async t => {
  const base = async (publicUrl?: string) => (await (await start(t, { publicUrl }))('/')).body.toString()
  t.match(await base(), '<base href="/" />')
  t.match(await base('https://example.test/console'), '<base href="/console/" />')
  t.match(await base('https://example.test/a%22b/'), '<base href="/a%22b/" />')
})

t.test('the page says whether the browser has a session cookie', async t => {
  const ask = await start(t)
  t.match((await ask('/')).body.toString(), 'content="no"')
  t.match((await ask('/', { cookie: 'other=1; svc_session=' })).body.toString(), 'content="no"')
  t.match((await ask('/', { cookie: 'other=1; svc_session=abc' })).body.toString(), 'content="yes"')
})

t.test('without built files the page says what to do', async t => {
  const ask = await start(t, { isBuilt: false })
  const { status, body } = await ask('/')
  t.equal(status, 503)
  t.match(body.toString(), 'npm run console:build')
})
