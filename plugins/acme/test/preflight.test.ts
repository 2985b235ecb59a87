/** What is seen before an order: CAA records of a real name server, and where names lead. The authority is not asked in vain. */
import { definePlugin } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import type { CertificateWish } from 'svc/plugins/certificates/api'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import type { StoreService } from 'svc/plugins/store/api'
import { eventually, findLastingPort } from 'svc/testing'
import t from 'tap'
import { startPebble } from '../testing.ts'

const skip = skipWithoutNamed()
t.test('before the order', { skip }, async t => {
  const hosts = ['@ IN A 127.0.0.1', 'www IN A 127.0.0.1', 'sub.www IN A 127.0.0.1']
  const named = await startNamed(t, {
    zones: {
      'open.test': [...hosts, 'away IN A 127.0.0.9', 'web IN A 127.0.0.1', 'web IN CAA 0 issue "other.test"'],
      'closed.test': [...hosts, '@ IN CAA 0 issue ";"', 'www IN CAA 128 future "x"'],
    },
    // Above them, where no record is: the search ends there.
    fixedZones: ['test'],
  })
  const port = await findLastingPort()
  const pebble = await startPebble(t, { httpPort: port, tlsPort: port, dnsServer: named.server })
  let store: StoreService | undefined
  const user = definePlugin({
    name: 'test-user',
    requires: ['certificates', 'store'],
    setup({ services }) {
      store = services.store
    },
  })
  const server = await startAdmin({
    plugins: [user],
    config: {
      http: { address: `127.0.0.1:${port}`, consoleAddress: '127.0.0.1:0' },
      acme: { directory: pebble.directory, caCert: pebble.caFile, httpPort: port },
      dns: { nameservers: [named.server] },
    },
  })
  t.teardown(server.stop)
  const { certificates } = server.kernel.services
  const orderCount = () => pebble.log().match(/Added order/g)?.length ?? 0
  async function ordered(id: string, wish: CertificateWish) {
    await store!.transaction(await certificates.prepareWish(id, wish))
    return eventually(
      () => certificates.get(id),
      ({ state, acme }) => state !== 'pending' && acme?.step === '',
    )
  }
  const reasons = () =>
    server.kernel.logs.filter(({ plugin }) => plugin === 'acme').map(({ domain, reason }) => `${domain}: ${reason}`)

  await t.test('names that CAA forbids make no order', async t => {
    const found = await ordered('closed', { domains: ['closed.test', 'www.closed.test'] })
    t.match(found, {
      state: 'failed',
      acme: {
        attempts: 1,
        lastError: /^preflight: .*0 issue ";", let no authority issue for closed\.test.*128 future "x"/,
        failedDomains: [
          { domain: 'closed.test', step: 'preflight' },
          { domain: 'www.closed.test', step: 'preflight' },
        ],
      },
    })
    t.equal(orderCount(), 0)
  })

  await t.test('they hold up no others, and a record above a name counts for it', async t => {
    const domains = ['www.open.test', 'sub.www.closed.test', 'web.open.test']
    const found = await ordered('mixed', { domains })
    t.match(found, {
      state: 'failed',
      acme: { failedDomains: [{ domain: 'sub.www.closed.test', step: 'preflight', error: /of www\.closed\.test/ }] },
    })
    t.same(
      [...found.domains].sort(),
      ['web.open.test', 'www.open.test'],
      'pebble tells no name that records could have',
    )
    t.equal(orderCount(), 1)
    t.ok(
      reasons().some(reason => /^web\.open\.test: .*0 issue "other\.test".* does not tell its name/.test(reason)),
      'that it may be another authority is in the log',
    )
  })

  await t.test('a name that leads elsewhere is told of when the authority has failed, too', async t => {
    const found = await ordered('away', { domains: ['away.open.test'] })
    t.match(
      found.acme?.lastError,
      /^validate: away\.open\.test: .* Seen from here before the order: http:\/\/away\.open\.test\/\.well-known\/acme-challenge\/\S+ was not answered by 127\.0\.0\.9: /,
    )
    t.ok(reasons().some(reason => reason.startsWith('away.open.test: http://')))
    t.same(
      reasons().filter(reason => reason.startsWith('www.open.test')),
      [],
      'of one that leads here there is nothing to tell',
    )
  })
})
