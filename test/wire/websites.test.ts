/** Websites of a real server, on every thread: what is in force, curl as people use it, and requests that try to hide others. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { createClient } from './sdk.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const curl = requireProgram('curl')

/** Sends bytes; resolves with all that came when the connection ends, or nothing comes any more. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let received = ''
    // A server that is to close the connection does so, however busy the machine is.
    if (!/^connection: close\r$/im.test(text)) socket.setTimeout(1500, () => socket.destroy())
    socket.on('data', data => {
      received += data.toString('latin1')
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}

t.test('websites', { skip: curl.skip }, async t => {
  const server = await startServer({ environment: { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_S3_DISTRIBUTIONS: 'on' } })
  t.teardown(() => server.remove())
  const web = Number(String(server.startup.web).split(':').at(-1))
  const admin = createAdminClient(server)
  const s3 = createClient(server)
  const large = Buffer.alloc(3_000_000, 'abcdefghij')
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  for (const [Key, Body] of Object.entries({
    'index.html': '<h1>home</h1>',
    'film.bin': large,
    'drafts/secret.txt': 'a secret',
  })) {
    await s3.send(new PutObjectCommand({ Bucket: 'pages', Key, Body, ContentType: 'text/html' }))
  }
  const site = {
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'pages' },
    defaultBehavior: { indexDocument: 'index.html' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/drafts/' }, access: 'deny' }],
  }
  /** Each over a connection of its own, so that they come to every thread. */
  const statuses = async (port: number) => {
    const request = 'GET / HTTP/1.1\r\nHost: www.example.test\r\nConnection: close\r\n\r\n'
    const answers = await Promise.all(Array.from({ length: 24 }, () => raw(port, request)))
    return [...new Set(answers.map(answer => Number(answer.split(' ')[1])))]
  }
  await t.test('an acknowledged change is in force on the next request, on every thread and listener', async t => {
    t.same(await statuses(web), [421])
    for (let round = 0; round < 3; round++) {
      await admin.call('PUT', '/distributions/site', site)
      t.same(await statuses(web), [200])
      t.same(await statuses(server.port), [200])
      await admin.call('PUT', '/distributions/site', { ...site, enabled: false })
      t.same(await statuses(web), [403])
      t.same(await statuses(server.port), [403])
    }
    await admin.call('PUT', '/distributions/site', site)
    t.match(
      await raw(server.port, 'GET /svc/health/live HTTP/1.1\r\nHost: www.example.test\r\nConnection: close\r\n\r\n'),
      /"ok":true/,
    )
  })

  await t.test('curl: ranges, resumption, conditions', async t => {
    const file = join(server.folder, 'film')
    const url = `http://www.example.test:${web}/film.bin`
    const options = ['-sSf', '--resolve', `www.example.test:${web}:127.0.0.1`]
    writeFileSync(file, large.subarray(0, 1_234_567))
    const resumed = await run(curl.path, [...options, '-C', '-', '-o', file, url], server)
    t.equal(resumed.code, 0, resumed.stderr)
    t.ok(readFileSync(file).equals(large))
    const part = await run(curl.path, [...options, '-r', '10-19', url], server)
    t.equal(part.stdout, 'abcdefghij')
    const etag = join(server.folder, 'etag')
    await run(curl.path, [...options, '--etag-save', etag, '-o', file, url], server)
    const again = await run(
      curl.path,
      [...options, '--etag-compare', etag, '-o', '/dev/null', '-w', '%{http_code}', url],
      server,
    )
    t.equal(again.stdout, '304')
    const head = await run(curl.path, [...options, '-I', url], server)
    t.match(head.stdout, /content-length: 3000000/i)
  })

  await t.test('a request that hides in the body of another is never answered', async t => {
    const hidden = 'GET /index.html HTTP/1.1\r\nHost: www.example.test\r\nX-Hidden: 1\r\n\r\n'
    const host = 'Host: www.example.test\r\n'
    const length = `Content-Length: ${hidden.length}\r\n`
    const attacks: Record<string, string> = {
      'both framings': `POST / HTTP/1.1\r\n${host}${length}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      'two lengths': `POST / HTTP/1.1\r\n${host}Content-Length: 0\r\n${length}\r\n${hidden}`,
      'a length with a sign': `POST / HTTP/1.1\r\n${host}Content-Length: +0\r\n\r\n${hidden}`,
      'a list of lengths': `POST / HTTP/1.1\r\n${host}Content-Length: 0, ${hidden.length}\r\n\r\n${hidden}`,
      'a disguised encoding': `POST / HTTP/1.1\r\n${host}${length}Transfer-Encoding: xchunked\r\n\r\n${hidden}`,
      'an encoding after a tab': `POST / HTTP/1.1\r\n${host}${length}Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n${hidden}`,
      'a space before the colon': `POST / HTTP/1.1\r\n${host}Content-Length : ${hidden.length}\r\n\r\n${hidden}`,
      'a folded header': `POST / HTTP/1.1\r\n${host}X: a\r\n Content-Length: 0\r\n${length}\r\n${hidden}`,
      'a body of GET': `GET / HTTP/1.1\r\n${host}${length}\r\n${hidden}`,
      'a body of HEAD': `HEAD / HTTP/1.1\r\n${host}${length}\r\n${hidden}`,
      'a body of OPTIONS': `OPTIONS / HTTP/1.1\r\n${host}${length}\r\n${hidden}`,
      'a refused body': `PUT /x HTTP/1.1\r\n${host}${length}\r\n${hidden}`,
      'an unknown host': `POST / HTTP/1.1\r\nHost: nobody.test\r\n${length}\r\n${hidden}`,
      'a bare line feed': `GET / HTTP/1.1\n${host}${length}\r\n${hidden}`,
      'an upgrade': `GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: h2c\r\n${length}\r\n${hidden}`,
    }
    for (const [name, text] of Object.entries(attacks)) {
      for (const port of [web, server.port]) {
        const answers = (await raw(port, text)).match(/HTTP\/1\.1 \d{3} /g) ?? []
        t.ok(answers.length <= 1, `${name}: ${answers}`)
      }
    }
    const two = await raw(
      web,
      `GET / HTTP/1.1\r\n${host}\r\nGET /drafts/secret.txt HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    )
    t.match(two, /HTTP\/1\.1 200 .*HTTP\/1\.1 403 /s, 'each request of a connection is decided for itself')
    t.notMatch(two, /a secret/)
    const hosts = await raw(
      web,
      `GET / HTTP/1.1\r\n${host}\r\nGET / HTTP/1.1\r\nHost: nobody.test\r\n\r\nGET / HTTP/1.1\r\n${host}\r\n`,
    )
    t.same(hosts.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 421'], 'a wrong host ends the connection')
  })

  await t.test('SVC_NO_DISTRIBUTIONS routes no host, and the Admin API works', async t => {
    await server.stop()
    await server.start({
      SVC_WEB_ADDRESS: `127.0.0.1:${web}`,
      SVC_NO_DISTRIBUTIONS: 'true',
      SVC_S3_DISTRIBUTIONS: 'on',
    })
    t.same(await statuses(web), [421])
    t.same(await statuses(server.port), [403], 'S3 in path style: anonymous')
    const listed = (await createAdminClient(server).call('GET', '/distributions')) as { items: unknown[] }
    t.equal(listed.items.length, 1)
    await server.stop()
    await server.start({
      SVC_WEB_ADDRESS: `127.0.0.1:${web}`,
      SVC_UNKNOWN_HOST: 'misdirected',
      SVC_SERVER_URL: `http://127.0.0.1:${server.port}`,
    })
    t.same(await statuses(web), [200], 'what was stored is served after a restart')
    t.match(
      await raw(server.port, 'GET /pages/x HTTP/1.1\r\nHost: nobody.test\r\n\r\n'),
      /^HTTP\/1\.1 421 .*MisdirectedRequest/s,
    )
    t.match(
      await raw(server.port, `GET /pages/x HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 403 /,
    )
  })
})

t.test('sessions of the console, and certificates that do not cover a host', { skip: curl.skip }, async t => {
  const folder = temporaryFolder(t)
  const authority = createTestAuthority(folder)
  const certs = join(folder, 'certs')
  mkdirSync(certs)
  const own = authority.issue(['www.example.test'])
  writeFileSync(join(certs, 'public.crt'), own.chain)
  writeFileSync(join(certs, 'private.key'), own.key)
  const server = await startServer({
    environment: { SVC_CERTS_DIR: certs, SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_WEB_TLS_ADDRESS: '127.0.0.1:0' },
  })
  t.teardown(() => server.remove())
  const portOf = (name: 'web' | 'web-tls' | 'console') => Number(String(server.startup[name]).split(':').at(-1))
  const admin = createAdminClient(server, { ca: authority.root, servername: 'www.example.test' })
  await admin.call('POST', '/buckets', { name: 'pages' })
  await admin.call('PUT', '/distributions/site', {
    id: 'site',
    aliases: ['www.example.test', 'other.example.test'],
    origin: { bucket: 'pages' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/members/' }, access: 'authenticated' }],
  })
  const ask = async (url: string, ...more: string[]) => {
    const { host, port } = new URL(url)
    const name = host.replace(/:.*/, '')
    const options = ['-sS', '--cacert', authority.file, '-o', '/dev/null', '-w', '%{http_code}', ...more]
    return (await run(curl.path, [...options, '--resolve', `${name}:${port}:127.0.0.1`, url], server)).stdout
  }

  await t.test('421 where the certificate of the connection is of another host', async t => {
    const url = `https://www.example.test:${portOf('web-tls')}/none`
    for (const version of ['--http1.1', '--http2']) {
      t.equal(await ask(url, version), '404')
      t.equal(await ask(url, version, '-H', 'Host: other.example.test'), '421', version)
      t.equal(await ask(url, version), '404')
    }
    const plain = `http://www.example.test:${portOf('web')}/none`
    t.equal(await ask(plain, '-H', 'Host: other.example.test'), '404', 'without TLS there is no certificate')
  })

  await t.test(
    'a live session of the console opens what needs credentials, on every thread, until it ends',
    async t => {
      const page = `http://www.example.test:${portOf('web')}/members/none`
      const console = `https://www.example.test:${portOf('console')}/api/v1/auth`
      const login = JSON.stringify({ accessKey, secretKey })
      const cookies = join(folder, 'cookies')
      const json = [
        '-H',
        'Content-Type: application/json',
        '-H',
        `Origin: https://www.example.test:${portOf('console')}`,
      ]
      t.match(await ask(`${console}/login`, ...json, '--data', login, '-c', cookies), /^20/)
      const value = /svc_session\s+(\S+)/.exec(readFileSync(cookies, 'utf8'))?.[1]
      const withCookie = () => ask(page, '-H', `Cookie: svc_session=${value}`)
      const outcomes = async () => new Set(await Promise.all(Array.from({ length: 24 }, withCookie)))
      t.same([...(await outcomes())], ['404'], 'the missing page is looked for')
      t.equal(await ask(page), '403')
      // As docs/operate/websites.md says.
      const unsigned = 'x-amz-content-sha256: UNSIGNED-PAYLOAD'
      const signed = ['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', `${accessKey}:${secretKey}`, '-H', unsigned]
      t.equal(await ask(page, ...signed), '404', 'a signed request')
      t.equal(await ask(page, '-H', `Cookie: svc_session=${'A'.repeat(43)}`), '403')
      const { stdout } = await run(
        curl.path,
        [
          '-sS',
          '--cacert',
          authority.file,
          '--resolve',
          `www.example.test:${portOf('console')}:127.0.0.1`,
          '-H',
          `Cookie: __Host-svc_session=${value}`,
          `${console}/session`,
        ],
        server,
      )
      const { csrfToken } = JSON.parse(stdout)
      const ended = await ask(
        `${console}/logout`,
        ...json,
        '-X',
        'POST',
        '-H',
        `Cookie: __Host-svc_session=${value}`,
        '-H',
        `X-CSRF-Token: ${csrfToken}`,
      )
      t.match(ended, /^20/)
      t.same([...(await outcomes())], ['403'])
    },
  )
})
