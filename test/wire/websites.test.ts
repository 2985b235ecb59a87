/** Websites of a real server, on every thread: what is in force, curl as people use it, and requests that try to hide others. */

import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const curl = requireProgram('curl')

/** Sends bytes; resolves with all that came when the connection ends, or nothing comes any more. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let received = ''
    socket.setTimeout(1500, () => socket.destroy())
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
