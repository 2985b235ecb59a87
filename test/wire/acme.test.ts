/** Certificates from a real authority on a real server: http-01 on the ports of S3 and of the web, tls-alpn-01 on the shared TLS port. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get as getSecure } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startPebble } from 'svc/plugins/acme/testing'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { eventually, findLastingPort, temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { startAcmeSite } from './acme-site.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram } from './clients.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

const { skip } = requireProgram('pebble')
const configFile = join(import.meta.dirname, 'certificate-wishes.json')

/** A server whose ports pebble validates at. */
async function start(t: Test, challenge: string, { usesWeb = false, hasOwn = false } = {}) {
  const webPort = await findLastingPort()
  const folder = temporaryFolder(t, 'certs')
  const authority = createTestAuthority(folder)
  const own = authority.issue(['own.test'])
  writeFileSync(join(folder, 'certs/public.crt'), own.chain)
  writeFileSync(join(folder, 'certs/private.key'), own.key)
  const environment = {
    SVC_CONFIG_FILE: configFile,
    ...(hasOwn && { SVC_CERTS_DIR: join(folder, 'certs') }),
    ...(usesWeb && { SVC_WEB_ADDRESS: `127.0.0.1:${webPort}` }),
    SVC_ACME_CHALLENGE: challenge,
  }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  await server.stop()
  const wishesFile = join(folder, 'wishes.json')
  writeFileSync(wishesFile, JSON.stringify({ site: ['www.a.test', 'a.test'] }))
  const pebble = await startPebble(t, { httpPort: usesWeb ? webPort : server.port, tlsPort: server.port })
  await server.start({
    ...environment,
    SVC_ACME_DIRECTORY: pebble.directory,
    SVC_ACME_CA_CERT: pebble.caFile,
    SVC_ACME_DNS_NAMESERVERS: pebble.dnsServer,
    SVC_ACME_HTTP_PORT: String(usesWeb ? webPort : server.port),
    TEST_WISHES_FILE: wishesFile,
  })
  const client = () => createAdminClient(server, hasOwn ? { ca: authority.root, servername: 'own.test' } : undefined)
  const get = (id: string) => client().call('GET', `/certificates/${id}`)
  const issued = await eventually(
    () => get('site'),
    ({ state }) => state === 'valid' || state === 'failed',
  )
  return { server, pebble, issued, get, call: client().call }
}

function presentedTo(port: number, name: string, ca: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', port, servername: name, ca }, () => {
      done(socket.getPeerX509Certificate()!.fingerprint256.replaceAll(':', '').toLowerCase())
      socket.destroy()
    })
    socket.on('error', fail)
  })
}

t.test('http-01 on the S3 port; no private key in files, log and answers', { skip }, async t => {
  const { server, issued, get, call } = await start(t, 'http-01')
  t.match(issued, { state: 'valid', acme: { attempts: 0 } }, issued.acme.lastError)
  const answers = JSON.stringify([issued, await get('site'), await call('GET', '/certificates')])
  const path = `http://127.0.0.1:${server.port}/.well-known/acme-challenge/nothing`
  t.match(await (await fetch(path)).text(), /InvalidBucketName/, 'of other tokens S3 tells what it has')
  await server.stop()
  for (const text of [answers, server.log()]) t.notMatch(text, /PRIVATE KEY/)
  for (const entry of readdirSync(server.drive, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const bytes = readFileSync(join(entry.parentPath, entry.name))
    if (bytes.includes('PRIVATE KEY')) t.fail(`a private key is in ${entry.name}`)
  }
})

t.test('http-01 on the web port, which has nothing else', { skip }, async t => {
  const { issued } = await start(t, 'http-01', { usesWeb: true })
  t.match(issued, { state: 'valid' }, issued.acme.lastError)
})

t.test(
  'tls-alpn-01 on the shared TLS port: presented at once, renewed under load without a failed handshake',
  { skip },
  async t => {
    const { server, pebble, issued, get, call } = await start(t, 'tls-alpn-01', { hasOwn: true })
    t.match(issued, { state: 'valid', acme: { attempts: 0 } }, issued.acme.lastError)
    const root = await pebble.root()
    t.equal(await presentedTo(server.port, 'a.test', root), issued.fingerprint)
    let isLoaded = true
    const seen = new Set<string>()
    const load = Array.from({ length: 3 }, async () => {
      while (isLoaded) seen.add(await presentedTo(server.port, 'www.a.test', root))
    })
    await call('POST', '/certificates/site/renew')
    const renewed = await eventually(
      () => get('site'),
      ({ state, fingerprint }) => state === 'valid' && fingerprint !== issued.fingerprint,
    )
    for (let count = 0; count < 8; count++) t.equal(await presentedTo(server.port, 'a.test', root), renewed.fingerprint)
    isLoaded = false
    await Promise.all(load)
    t.same([...seen].sort(), [issued.fingerprint, renewed.fingerprint].sort())
  },
)

t.test(
  'a distribution with an automatic certificate is a website over TLS; without it the certificate is gone',
  { skip },
  async t => {
    const { pebble, server, webTlsPort } = await startAcmeSite(t, 'welcome')
    const admin = createAdminClient(server)
    for (const [id, name, challenge] of [
      ['site', 'www.site.test', 'http-01'],
      ['shop', 'www.shop.test', 'tls-alpn-01'],
    ] as const) {
      const behavior = { access: 'public', indexDocument: 'index.html' }
      await admin.call('POST', '/distributions', {
        id,
        aliases: [name],
        origin: { bucket: 'pages' },
        tls: { certificate: 'auto', challenge },
        defaultBehavior: behavior,
      })
      const issued = await eventually(
        () => admin.call('GET', `/certificates/${id}`),
        ({ state }) => state === 'valid' || state === 'failed',
      )
      t.match(issued, { state: 'valid', usedBy: [id], domains: [name] }, issued.acme.lastError)
      await t.rejects(admin.call('DELETE', `/certificates/${id}`), /certificate_in_use/)
      const ca = await pebble.root()
      const page = await new Promise((done, fail) => {
        const options = {
          host: '127.0.0.1',
          port: webTlsPort,
          servername: name,
          ca,
          headers: { host: name },
          agent: false,
        }
        getSecure({ ...options, path: '/' }, answer => text(answer).then(done, fail)).on('error', fail)
      })
      t.equal(page, 'welcome')
      await admin.call('DELETE', `/distributions/${id}`)
      await t.rejects(admin.call('GET', `/certificates/${id}`), /certificate_not_found/)
      await t.rejects(presentedTo(webTlsPort, name, ca), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
    }
  },
)

t.test(
  'dns-01: apex and wildcard by a DNS provider; the zone has no value afterwards, and the provider is in use',
  { skip: skip || skipWithoutNamed() },
  async t => {
    const zone = 'wild.test'
    const named = await startNamed(t, { zones: { [zone]: [] } })
    const pebble = await startPebble(t, { httpPort: 9, tlsPort: 9, dnsServer: named.server })
    const webTlsPort = await findLastingPort()
    const server = await startServer({
      environment: {
        SVC_WEB_TLS_ADDRESS: `127.0.0.1:${webTlsPort}`,
        SVC_ACME_DIRECTORY: pebble.directory,
        SVC_ACME_CA_CERT: pebble.caFile,
        SVC_ACME_DNS_NAMESERVERS: named.server,
      },
    })
    t.teardown(() => server.remove())
    const s3 = createClient(server)
    t.teardown(() => s3.destroy())
    await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
    const { call } = createAdminClient(server)
    const provider = {
      type: 'rfc2136',
      rfc2136: { nameserver: named.server, tsigKeyName: named.key.name },
      credentials: { tsigSecret: named.key.secret },
      ttl: 1,
      pollingInterval: '100ms',
    }
    const site = {
      id: 'wild',
      aliases: [zone, `*.${zone}`],
      origin: { bucket: 'pages' },
      tls: { certificate: 'auto', challenge: 'dns-01', dnsProvider: 'main' },
    }
    await t.rejects(call('POST', '/distributions', site), /dns_provider_not_found/)
    await call('POST', '/dns-providers', { name: 'main', ...provider })
    await call('POST', '/distributions', site)
    const issued = await eventually(
      () => call('GET', '/certificates/wild'),
      ({ state }) => state === 'valid' || state === 'failed',
    )
    t.match(issued, { state: 'valid', usedBy: ['wild'] }, issued.acme.lastError)
    t.same([...issued.domains].sort(), [`*.${zone}`, zone])
    const root = await pebble.root()
    for (const name of [zone, `any.${zone}`]) t.equal(await presentedTo(webTlsPort, name, root), issued.fingerprint)
    t.same(await named.values(`_acme-challenge.${zone}`), [])
    t.match(await call('GET', '/dns-providers/main'), { usedBy: ['distribution/wild'] })
    await t.rejects(call('DELETE', '/dns-providers/main'), /dns_provider_in_use/)
    await call('DELETE', '/distributions/wild')
    await call('DELETE', '/dns-providers/main')
  },
)
