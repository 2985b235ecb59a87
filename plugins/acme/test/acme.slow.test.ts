/** Orders from a real authority: issued, refused, tried again, renewed. Its nonces are often refused, and nothing is reused. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { definePlugin } from 'svc/kernel'
import { type AdminAnswer, startAdmin } from 'svc/plugins/admin/testing'
import type { Certificate, CertificateWish } from 'svc/plugins/certificates/api'
import { createSystemPorts, eventually, findLastingPort, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { createDnsValidation } from '../dns-validation.ts'
import { certificateId } from '../renewal-information.ts'
import { type Pebble, startPebble } from '../testing.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
let aheadMs = 0
const system = createSystemPorts()
const clock = { ...system.clock, now: () => system.clock.now() + aheadMs }

interface Server {
  wish(id: string, wish: CertificateWish): Promise<void>
  end(id: string): Promise<void>
  get(id: string): Promise<Certificate>
  /** Waits until no order is under way. */
  settled(id: string): Promise<Certificate>
  call(method: string, path: string): Promise<AdminAnswer>
  /** Takes its lock from the order that is under way. */
  interrupt(id: string): Promise<void>
  logs(): readonly unknown[]
  metric(result: string): Promise<number>
  stop(): Promise<void>
}

async function startServer(
  httpPort: number,
  { dnsServer, ...acme }: Readonly<Record<string, unknown> & { dnsServer: string }>,
): Promise<Server> {
  let store: import('svc/plugins/store/api').StoreService | undefined
  const user = definePlugin({
    name: 'test-user',
    requires: ['certificates', 'store'],
    setup({ services }) {
      store = services.store
    },
  })
  const admin = await startAdmin({
    ports: { clock },
    plugins: [user],
    config: {
      http: { address: `127.0.0.1:${httpPort}`, consoleAddress: '127.0.0.1:0' },
      acme: { httpPort, ...acme },
      dns: { nameservers: [dnsServer] },
    },
  })
  const { certificates, locks, metrics } = admin.kernel.services
  const get = (id: string) => certificates.get(id)
  return {
    wish: async (id, wish) => void (await store!.transaction(await certificates.prepareWish(id, wish))),
    end: async id => void (await store!.transaction(await certificates.prepareEnd(id))),
    get,
    settled: id =>
      eventually(
        () => get(id),
        ({ state, acme: order }) => state !== 'pending' && order?.step === '',
      ),
    interrupt: async id =>
      void (await eventually(
        () => locks.release([`svc/acme/${id}`]),
        ({ length }) => length > 0,
      )),
    logs: () => admin.kernel.logs.filter(({ plugin }) => plugin === 'acme'),
    call: (method, path) => admin.signed({ method, path: `/api/v1${path}` }),
    async metric(result) {
      const scraped = await metrics.scrape()
      return Number(new RegExp(`^svc_acme_orders_total\\{result="${result}".*\\} (\\S+)$`, 'm').exec(scraped)?.[1])
    },
    stop: admin.stop,
  }
}

/** Requests would be the wrong count: pebble refuses some nonces, and they are sent again. */
const orderCount = (pebble: Pebble): number => pebble.log().match(/Added order/g)?.length ?? 0
const certificateCount = (pebble: Pebble): number => pebble.log().match(/Issued certificate/g)?.length ?? 0
const port = await findLastingPort()
const pebble = await startPebble(t, { httpPort: port, tlsPort: port })
const { dnsServer } = pebble
const acme = { directory: pebble.directory, caCert: pebble.caFile, email: 'ops@example.test', dnsServer }
const server = await startServer(port, acme)
t.teardown(server.stop)

t.test('a certificate that is wished for is ordered by http-01, stored, and in force', async t => {
  await server.wish('site', { domains: ['www.a.test', 'a.test'] })
  const issued = await server.settled('site')
  t.match(issued, {
    source: 'acme',
    state: 'valid',
    keyType: 'ecdsa-p256',
    acme: { directory: pebble.directory, attempts: 0, lastError: '', failedDomains: [] },
  })
  t.same([...issued.domains].sort(), ['a.test', 'www.a.test'])
  t.match(issued.issuer, /Pebble Intermediate/)
  t.equal(orderCount(pebble), 1)
  await eventually(
    () => server.metric('success'),
    count => count === 1,
  )
  const { json, text } = await server.call('GET', '/certificates/site')
  t.match(json, { state: 'valid', acme: { step: '', attempts: 0 } })
  const [beginMs, renewsMs, endMs] = [json.notBefore, json.acme.nextAttemptAt, json.notAfter].map(Date.parse)
  const left = (endMs! - renewsMs!) / (endMs! - beginMs!)
  t.ok(left >= 1 / 3 && left <= 1 / 3 + 1 / 60, `it is told when it is renewed: ${json.acme.nextAttemptAt}`)
  t.notMatch(text, /PRIVATE/)
})

t.test('renewal is asked for: a new one, and the former is presented meanwhile', async t => {
  const before = await server.get('site')
  const answer = await server.call('POST', '/certificates/site/renew')
  t.match(answer, { status: 202, json: { state: 'pending', notAfter: before.notAfter } })
  const after = await server.settled('site')
  t.not(after.fingerprint, before.fingerprint)
  t.equal(orderCount(pebble), 2)
})

t.test('with a third of its life left it is renewed, and not before', async t => {
  const before = await server.get('site')
  aheadMs += 57 * dayMs
  await new Promise(done => setTimeout(done, 3000))
  t.equal((await server.get('site')).fingerprint, before.fingerprint)
  aheadMs += 3.1 * dayMs
  const after = await eventually(
    () => server.get('site'),
    ({ fingerprint }) => fingerprint !== before.fingerprint,
  )
  t.equal(after.acme?.attempts, 0)
  aheadMs = 0
})

t.test(
  'one name that cannot be validated holds up nobody: the others are issued at once, and it is tried again',
  async t => {
    await pebble.setAddress('bad.test', '127.0.0.9')
    await server.wish('mixed', { domains: ['good.test', 'bad.test'] })
    const first = await server.settled('mixed')
    t.same(first.domains, ['good.test'])
    t.match(first, {
      state: 'failed',
      notAfter: /Z$/,
      acme: { attempts: 1, lastError: /bad\.test: .*/, failedDomains: [{ domain: 'bad.test', step: 'validate' }] },
    })
    t.match(first.acme?.lastError, /refused|connect/i, 'in the words of the authority')
    t.match(first.acme?.lastError, /Seen from here before the order: .* was not answered by 127\.0\.0\.9: /)
    const waitMs = first.acme!.nextAttemptMs! - clock.now()
    t.ok(waitMs > 90_000 && waitMs < 150_000, `${waitMs} ms`)
    const refused = await server.call('POST', '/certificates/mixed/renew')
    t.match(refused, { status: 429, json: { code: 'too_many_requests', detail: /bad\.test.*not asked again before/ } })
    await pebble.setAddress('bad.test', '127.0.0.1')
    const orders = orderCount(pebble)
    aheadMs += waitMs + 1000
    const second = await eventually(
      () => server.get('mixed'),
      ({ domains }) => domains.length === 2,
    )
    t.match(second, { acme: { attempts: 0, failedDomains: [], lastError: '' } })
    t.equal(orderCount(pebble), orders + 1)
  },
)

t.test(
  'a name that fails again costs no other certificate for the same names, until one is due or asked for',
  async t => {
    const settledAfter = (lastAttemptMs: number) =>
      eventually(
        () => server.get('part'),
        ({ acme: order }) => order?.step === '' && order.lastAttemptMs! > lastAttemptMs,
      )
    await pebble.setAddress('away.test', '127.0.0.9')
    await server.wish('part', { domains: ['here.test', 'away.test'] })
    const first = await server.settled('part')
    t.same(first.domains, ['here.test'])
    const certificates = certificateCount(pebble)
    const orders = orderCount(pebble)

    aheadMs += first.acme!.nextAttemptMs! - clock.now() + 1000
    const again = await settledAfter(first.acme!.lastAttemptMs!)
    t.equal(again.fingerprint, first.fingerprint)
    t.match(again, {
      state: 'failed',
      acme: { attempts: 2, lastError: /away\.test: /, failedDomains: [{ domain: 'away.test', step: 'validate' }] },
    })
    const waitMs = again.acme!.nextAttemptMs! - clock.now()
    t.ok(waitMs > 450_000 && waitMs < 750_000, `${waitMs} ms`)
    t.equal(orderCount(pebble), orders + 1, 'the name was tried')
    t.equal(certificateCount(pebble), certificates)

    await server.call('POST', '/certificates/part/renew?force=true')
    const asked = await settledAfter(again.acme!.lastAttemptMs!)
    t.not(asked.fingerprint, first.fingerprint, 'a renewal was asked for')
    t.same(asked.domains, ['here.test'])
    t.equal(certificateCount(pebble), certificates + 1)

    await server.wish('part', { domains: ['here.test', 'away.test', 'more.test'] })
    const more = await settledAfter(asked.acme!.lastAttemptMs!)
    t.same([...more.domains].sort(), ['here.test', 'more.test'], 'a name was added that can be validated')
    t.match(more.acme, { attempts: 1, failedDomains: [{ domain: 'away.test' }] })

    await pebble.setAddress('more.test', '127.0.0.9')
    aheadMs += more.acme!.nextAttemptMs! - clock.now() + hourMs
    const fewer = await settledAfter(more.acme!.lastAttemptMs!)
    t.equal(fewer.fingerprint, more.fingerprint, 'one that fails since keeps its certificate')
    t.same(fewer.acme?.failedDomains.map(({ domain }) => domain).sort(), ['away.test', 'more.test'])

    aheadMs += 60.1 * dayMs
    const due = await settledAfter(fewer.acme!.lastAttemptMs!)
    t.same(due.domains, ['here.test'], 'when it is due it is renewed for the names that work')
    await server.end('part')
    aheadMs = 0
  },
)

t.test('a name that fails does not put off the renewal of a certificate of few minutes', async t => {
  const httpPort = await findLastingPort()
  const brief = await startPebble(t, { httpPort, tlsPort: httpPort, validitySeconds: 600 })
  const { directory, caFile, dnsServer } = brief
  const server = await startServer(httpPort, { directory, caCert: caFile, dnsServer })
  t.teardown(server.stop)
  await brief.setAddress('away.test', '127.0.0.9')
  await server.wish('brief', { domains: ['here.test', 'away.test'] })
  const first = await server.settled('brief')
  const beginMs = Date.parse(first.notBefore)
  aheadMs += first.acme!.nextAttemptMs! - clock.now() + 1000
  const again = await eventually(
    () => server.get('brief'),
    ({ acme: order }) => order?.step === '' && order.attempts === 2,
  )
  t.equal(again.fingerprint, first.fingerprint)
  const renewsMs = again.acme!.nextAttemptMs! - beginMs
  t.ok(renewsMs > 380_000 && renewsMs < 401_000, `after ${renewsMs} ms of its life, not after the pause`)
  aheadMs += again.acme!.nextAttemptMs! - clock.now() + 1000
  const renewed = await eventually(
    () => server.get('brief'),
    ({ fingerprint }) => fingerprint !== first.fingerprint,
  )
  t.same(renewed.domains, ['here.test'])
  aheadMs = 0
})

t.test('failing names are retried after growing pauses, and at most four times an hour for any request', async t => {
  await pebble.setAddress('never.test', '127.0.0.9')
  const waits: number[] = []
  for (let attempt = 1; attempt <= 4; attempt++) {
    await server.wish('never', { domains: ['never.test'], ...(attempt % 2 === 0 ? { challenge: 'http-01' } : {}) })
    const { acme: order, state } = await eventually(
      () => server.get('never'),
      ({ acme: order }) => order?.attempts === 1 && order.step === '',
    )
    t.equal(state, 'failed')
    waits.push(order!.nextAttemptMs! - clock.now())
  }
  const orders = orderCount(pebble)
  await server.wish('never', { domains: ['never.test'] })
  const spent = await eventually(
    () => server.get('never'),
    ({ acme: order }) => order?.attempts === 1 && order.step === '',
  )
  t.match(spent.acme?.lastError, /asked too often in the last hours/)
  t.equal(orderCount(pebble), orders, 'the authority was not asked')
  await server.end('never')
  t.equal((await server.call('GET', '/certificates/never')).status, 404)
})

t.test('an authority that is away: the words say so, and the order goes on when it is back', async t => {
  await pebble.stop()
  await server.wish('later', { domains: ['later.test'] })
  const failed = await server.settled('later')
  t.match(failed, {
    state: 'failed',
    acme: { attempts: 1, lastError: /^preflight: The authority could not be asked: .* refuses connections/ },
  })
  await pebble.start()
  aheadMs += 5 * 60_000
  // It has forgotten the account, and is told of it again.
  const issued = await eventually(
    () => server.get('later'),
    ({ state }) => state === 'valid',
  )
  t.match(issued.acme, { attempts: 0, lastError: '' })
})

t.test('an order whose lock is released stops, notes no failure, and goes on with the next lock', async t => {
  const failures = await server.metric('failure')
  await server.wish('taken', { domains: ['taken.test'] })
  await server.interrupt('taken')
  t.match(await server.settled('taken'), { state: 'valid', acme: { attempts: 0, lastError: '' } })
  await server.end('taken')
  t.equal(await server.metric('failure'), failures)
})

t.test('dns-01 is refused in words where nothing publishes records, or no provider is named', async t => {
  t.match(createDnsValidation(undefined).problem, /needs the plugin "dns"/)
  await server.wish('wild', { domains: ['*.w.test'], challenge: 'dns-01' })
  t.match(await server.settled('wild'), {
    state: 'failed',
    acme: { lastError: /needs a DNS provider, and none is named/ },
  })
  await server.end('wild')
})

t.test('an authority that wants external accounts', async t => {
  const otherPort = await findLastingPort()
  const key = Buffer.alloc(32, 7).toString('base64url')
  const strict = await startPebble(t, {
    httpPort: otherPort,
    tlsPort: otherPort,
    externalAccount: { keyId: 'kid-1', key },
  })
  const config = { directory: strict.directory, caCert: strict.caFile, dnsServer: strict.dnsServer }
  const without = await startServer(otherPort, config)
  await without.wish('site', { domains: ['e.test'] })
  t.match((await without.settled('site')).acme?.lastError, /^account: .*externalAccountRequired/)
  await without.stop()
  const bound = await startServer(otherPort, { ...config, eabKeyId: 'kid-1', eabHmacKey: key })
  await bound.wish('site', { domains: ['e.test'] })
  t.equal((await bound.settled('site')).state, 'valid')
  await bound.stop()
})

t.test('the chain leads to the root of the authority', async t => {
  const root = new X509Certificate(await pebble.root())
  const { issuer } = await server.get('later')
  t.match(issuer, /Pebble Intermediate/)
  t.ok(root.ca)
})

t.test('the name of a certificate for its authority (RFC 9773, 4.1)', async t => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'leaf.pem')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null']
  execFileSync('openssl', ['req', '-x509', ...key, '-subj', '/CN=a', '-set_serial', '0x87654321', '-out', file], {
    stdio: 'ignore',
  })
  const id = await certificateId(readFileSync(file, 'utf8'))
  t.match(id, /^[\w-]{27}\.AIdlQyE$/)
})

t.test('an authority that tells when it wants certificates renewed', async t => {
  const httpPort = await findLastingPort()
  const teller = await startPebble(t, { httpPort, tlsPort: httpPort, nonceRejects: 0 })
  const proxyPort = await findLastingPort()
  let window = { start: new Date(Date.now() + 80 * dayMs), end: new Date(Date.now() + 81 * dayMs) }
  const asked: string[] = []
  const replaced: unknown[] = []
  // In front of pebble, which does not tell: the directory names the resource, and the rest goes on to pebble.
  const proxy = createServer(
    { cert: readFileSync(teller.caFile), key: readFileSync(teller.keyFile) },
    async (incoming, outgoing) => {
      const { method, url = '', headers } = incoming
      if (url.startsWith('/renewal/')) {
        asked.push(url.slice('/renewal/'.length))
        outgoing.setHeader('retry-after', '60')
        return outgoing.end(JSON.stringify({ suggestedWindow: window }))
      }
      const body = await buffer(incoming)
      if (url === '/order-plz') {
        const payload = Buffer.from(JSON.parse(body.toString()).payload, 'base64url')
        replaced.push(JSON.parse(payload.toString()).replaces)
      }
      const options = { host: '127.0.0.1', port: teller.port, method, path: url, headers, rejectUnauthorized: false }
      const forwarded = request(options, async answer => {
        let bytes = await buffer(answer)
        if (url === '/dir') {
          bytes = Buffer.from(
            JSON.stringify({ ...JSON.parse(bytes.toString()), renewalInfo: `https://127.0.0.1:${proxyPort}/renewal` }),
          )
        }
        const { 'transfer-encoding': _framing, ...passed } = answer.headers
        outgoing.writeHead(answer.statusCode!, { ...passed, 'content-length': String(bytes.length) })
        outgoing.end(bytes)
      })
      forwarded.end(body)
    },
  )
  await new Promise<void>(done => proxy.listen(proxyPort, '127.0.0.1', done))
  const ari = await startServer(httpPort, {
    directory: `https://127.0.0.1:${proxyPort}/dir`,
    caCert: teller.caFile,
    dnsServer: teller.dnsServer,
  })
  t.teardown(async () => {
    await ari.stop()
    proxy.closeAllConnections()
    proxy.close()
  })
  await ari.wish('told', { domains: ['told.test'] })
  const first = await ari.settled('told')
  await eventually(
    async () => asked.length,
    count => count > 0,
  )
  t.match(asked[0], /^[\w-]+\.[\w-]+$/)
  await new Promise(done => setTimeout(done, 2000))
  t.equal(asked.length, 1, 'not again before the authority wants to be asked')
  t.equal((await ari.get('told')).fingerprint, first.fingerprint)
  window = { start: new Date(Date.now() - dayMs), end: new Date(Date.now() - hourMs) }
  aheadMs += 11 * 60_000
  const renewed = await eventually(
    () => ari.get('told'),
    ({ fingerprint }) => fingerprint !== first.fingerprint,
  )
  t.equal(renewed.acme?.attempts, 0)
  t.same(replaced, [undefined, asked[0]], 'the second order says which certificate it replaces')
})
