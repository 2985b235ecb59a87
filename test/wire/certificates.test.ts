/** Certificates by server name on a real server: OpenSSL and curl see them, in every thread, at the next handshake after the answer. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { createTestAuthority, type TestCertificate, tracesOf } from 'svc/plugins/certificates/testing'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { archive, files, placesWith } from './secret-search.ts'
import { startServer } from './server.ts'

const folder = temporaryFolder(t)
const authority = createTestAuthority(folder)
const certs = join(folder, 'certs')
mkdirSync(certs)
const own = authority.issue(['own.test', 'localhost'])
writeFileSync(join(certs, 'public.crt'), own.chain)
writeFileSync(join(certs, 'private.key'), own.key)

const server = await startServer({ environment: { SVC_CERTS_DIR: certs } })
t.teardown(() => server.remove())
const admin = createAdminClient(server, { ca: authority.root, servername: 'own.test' })
const answers: string[] = []
const call = async (method: string, path: string, body?: object) => {
  const answer = await admin.call(method, path, body)
  answers.push(JSON.stringify(answer) ?? '')
  return answer
}
const uploadOf = ({ chain, key }: TestCertificate) => ({ certificate: chain, privateKey: key, comment: '' })

/** `openssl s_client`; the common name of what is presented, and whether it is verified for the name. */
function seen(name: string): string {
  const { stdout } = spawnSync(
    'openssl',
    [
      's_client',
      '-connect',
      `127.0.0.1:${server.port}`,
      '-servername',
      name,
      '-CAfile',
      authority.file,
      '-verify_hostname',
      name,
    ],
    { input: '', encoding: 'utf8' },
  )
  const subject = /^subject=CN = (.*)$/m.exec(stdout)?.[1]
  return `${subject} ${/^Verify return code: (\d+)|Verification: (\w+)/m.exec(stdout)?.slice(1).join('')}`
}

function handshake(name: string): Promise<TLSSocket> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, servername: name, ca: authority.root })
    socket.on('secureConnect', () => done(socket))
    socket.on('error', fail)
  })
}

const { path: curl, skip } = requireProgram('curl')

t.test('OpenSSL and curl get the certificate of the name that they ask for', { skip }, async t => {
  const exact = authority.issue(['a.site.test'])
  const wild = authority.issue(['*.site.test'])
  t.match(seen('a.site.test'), /^own\.test /)
  await call('POST', '/certificates', { id: 'wild', ...uploadOf(wild) })
  t.equal(seen('a.site.test'), '*.site.test OK')
  await call('POST', '/certificates', { id: 'exact', ...uploadOf(exact) })
  t.equal(seen('a.site.test'), 'a.site.test OK')
  t.equal(seen('b.site.test'), '*.site.test OK')
  t.match(seen('site.test'), /^own\.test /)
  for (const version of ['--http1.1', '--http2', '--tls-max 1.2']) {
    const { stdout } = await run(
      curl,
      [
        ...[
          '-sS',
          ...version.split(' '),
          '--cacert',
          authority.file,
          '-o',
          '/dev/null',
          '-w',
          '%{http_code} %{ssl_verify_result}',
        ],
        ...['--resolve', `a.site.test:${server.port}:127.0.0.1`, `https://a.site.test:${server.port}/svc/health/live`],
      ],
      server,
      { folder },
    )
    t.equal(stdout, '200 0', version)
  }
  const { items } = await call('GET', '/certificates')
  t.same(
    items.map(({ id, source }: { id: string; source: string }) => `${id} ${source}`),
    ['exact upload', 'public.crt files', 'wild upload'],
  )
  await t.rejects(call('DELETE', '/certificates/public.crt'), /409.*SVC_CERTS_DIR/)
})

t.test(
  'replaced under load: no handshake fails, none after the answer gets the former one, open connections stay',
  async t => {
    const open = await handshake('a.site.test')
    let isLoaded = true
    let handshakes = 0
    const load = Array.from({ length: 3 }, async () => {
      while (isLoaded) {
        const socket = await handshake('a.site.test')
        socket.destroy()
        handshakes++
      }
    })
    for (let round = 0; round < 5; round++) {
      const next = authority.issue(['a.site.test'])
      const { fingerprint } = await call('PUT', '/certificates/exact', uploadOf(next))
      // More than there are threads: each of them has to know.
      for (let count = 0; count < 12; count++) {
        const socket = await handshake('a.site.test')
        const found = socket.getPeerX509Certificate()!.fingerprint256.replaceAll(':', '').toLowerCase()
        socket.destroy()
        if (found !== fingerprint) t.fail(`handshake ${count} of round ${round} got ${found}`)
      }
    }
    isLoaded = false
    await Promise.all(load)
    t.ok(handshakes > 0, `${handshakes} handshakes beside`)
    open.write('GET /svc/health/live HTTP/1.1\r\nHost: a.site.test\r\n\r\n')
    t.match(String(await new Promise(done => open.once('data', done))), /^HTTP\/1\.1 200/)
    open.destroy()
  },
)

t.test('deleted: the next handshake gets another', async t => {
  await call('DELETE', '/certificates/exact')
  for (let count = 0; count < 6; count++) t.equal(seen('a.site.test'), '*.site.test OK')
})

t.test('deleted beside a distribution that begins to name it: one of the two is refused, on every thread', async t => {
  await call('POST', '/buckets', { name: 'raced' })
  const upload = uploadOf(authority.issue(['race.test']))
  const outcomes: string[] = []
  for (let round = 0; round < 12; round++) {
    await call('POST', '/certificates', { id: 'raced', ...upload })
    const site = { id: 'raced', aliases: ['race.test'], origin: { bucket: 'raced' }, tls: { certificate: 'raced' } }
    const [named, deleted] = await Promise.allSettled([
      call('PUT', '/distributions/raced', site),
      call('DELETE', '/certificates/raced'),
    ])
    outcomes.push(`${named.status} ${deleted.status}`)
    if (deleted.status === 'fulfilled') {
      t.match(named, { reason: /certificate_not_found/ })
    } else {
      t.match(deleted.reason, /certificate_in_use/)
      const { certificate } = await call('GET', '/routing/resolve?host=race.test&listener=s3')
      t.match(certificate, { id: 'raced', state: 'valid' })
      await call('DELETE', '/distributions/raced')
      await call('DELETE', '/certificates/raced')
    }
  }
  t.notOk(
    outcomes.some(each => each === 'fulfilled fulfilled' || each === 'rejected rejected'),
    outcomes.join(', '),
  )
})

t.test('no private key is on the drive, in the log, in an answer or in the archive', async t => {
  const kept = authority.issue(['kept.test'])
  await call('POST', '/certificates', { id: 'kept', ...uploadOf(kept) })
  await t.rejects(call('POST', '/certificates', { id: 'kept', ...uploadOf(kept) }), /already_exists/)
  await t.rejects(
    call('POST', '/certificates', { id: 'bad', ...uploadOf({ ...kept, chain: own.chain }) }),
    /invalid_certificate/,
  )
  const unpacked = await archive(admin, folder)
  await server.stop()
  const places = [{ name: 'answers', bytes: Buffer.from(answers.join('\n')) }, unpacked, ...files(server)]
  // What is there is found.
  t.same(placesWith([unpacked], ['raced']), ['the archive'])
  t.ok(placesWith(places, [kept.leaf.split('\n')[2]!]).length > 0, 'the chain itself is on the drive')
  t.same(placesWith(places, tracesOf(kept.key)), [])
  await server.start()
  t.equal(seen('kept.test'), 'kept.test OK', 'it is there after a restart')
})
