/**
 * The server is killed in each step of an order, just before the authority hears of it and just before its answer arrives. The next start
 * goes on: one account, one order, no answer to a challenge left behind.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { eventually, startPebble } from 'svc/plugins/acme/testing'
import { findLastingPort, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { requireProgram } from '../wire/clients.ts'
import { startServer } from '../wire/server.ts'

const { skip } = requireProgram('pebble')

/** What each step asks of pebble, and what it has written by then where that takes a while. */
const steps: readonly (readonly [name: string, path: RegExp, done?: RegExp])[] = [
  ['account', /^\/sign-me-up/],
  ['order', /^\/order-plz/],
  ['publish', /^\/authZ\//],
  ['validate', /^\/chalZ\//, /set VALID/],
  ['finalize', /^\/finalize-order\//],
  ['download', /^\/certZ\//],
]

t.test('an order survives kill -9 in each of its steps', { skip }, async t => {
  const folder = temporaryFolder(t)
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=proxy',
      ],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', caFile],
    ],
    { stdio: 'ignore' },
  )
  const environment = { SVC_CONFIG_FILE: join(import.meta.dirname, '../wire/certificate-wishes.json') }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  await server.stop()
  const pebble = await startPebble(t, { httpPort: server.port, tlsPort: server.port, nonceRejects: 0 })

  /** In front of pebble: holds one request for ever, before or after pebble has had it. */
  let held: { path: RegExp; isAfter: boolean; done: RegExp | undefined; onHeld(): void } | undefined
  const made: Record<string, number> = {}
  const proxy = createServer({ key: readFileSync(keyFile), cert: readFileSync(caFile) }, async (incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    const body = await buffer(incoming)
    const hold = held !== undefined && method === 'POST' && held.path.test(url) ? held : undefined
    if (hold !== undefined) held = undefined
    if (hold !== undefined && !hold.isAfter) return hold.onHeld()
    const logged = pebble.log().length
    const forwarded = request(
      { host: '127.0.0.1', port: pebble.port, method, path: url, headers, rejectUnauthorized: false },
      async answer => {
        const answered = await buffer(answer)
        if (answer.statusCode === 201) made[url] = (made[url] ?? 0) + 1
        if (hold !== undefined) {
          const { done } = hold
          if (done !== undefined)
            await eventually(
              async () => pebble.log().slice(logged),
              text => done.test(text),
            )
          return hold.onHeld()
        }
        outgoing.writeHead(answer.statusCode!, answer.headers)
        outgoing.end(answered)
      },
    )
    forwarded.on('error', () => outgoing.destroy())
    forwarded.end(body)
  })
  const proxyPort = await findLastingPort()
  await new Promise<void>(done => proxy.listen(proxyPort, '127.0.0.1', done))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })

  let round = 0
  for (const [name, path, done] of steps) {
    // There is one account: what is interrupted is its first request, and of that the worse half, whose answer is lost.
    for (const isAfter of name === 'account' ? [true] : [false, true]) {
      const id = `k${++round}`
      const life = {
        ...environment,
        SVC_ACME_DIRECTORY: `https://127.0.0.1:${proxyPort}/dir`,
        SVC_ACME_CA_CERT: caFile,
        TEST_WISHES: JSON.stringify({ [id]: [`${id}.test`] }),
      }
      const ordersBefore = made['/order-plz'] ?? 0
      const reached = new Promise<void>(onHeld => {
        held = { path, isAfter, done, onHeld }
      })
      await server.start(life)
      await reached
      await server.kill()
      proxy.closeAllConnections()
      await server.start(life)
      const admin = createAdminClient(server)
      const certificate = await eventually(
        () => admin.call('GET', `/certificates/${id}`),
        ({ state }) => state === 'valid' || state === 'failed',
      )
      const where = `${name}, ${isAfter ? 'before its answer' : 'before its request'}`
      t.match(certificate, { state: 'valid', acme: { attempts: 0, step: '' } }, where)
      t.equal((made['/order-plz'] ?? 0) - ordersBefore, 1, `${where}: one order`)
      await server.stop()
    }
  }
  t.equal(made['/sign-me-up'], 1, 'one account')
  const tokens = [...pebble.log().matchAll(/acme-challenge\/([\w-]+)/g)].map(([, token]) => token)
  t.ok(tokens.length > 0)
  await server.start(environment)
  for (const token of new Set(tokens)) {
    const answer = await fetch(`http://127.0.0.1:${server.port}/.well-known/acme-challenge/${token}`)
    if (answer.status === 200) t.fail('an answer to a challenge is left')
  }
})
