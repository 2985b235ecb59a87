/**
 * The server is killed in each step of an order, just before the authority hears of it and just before its answer arrives; by dns-01 also
 * in each change of the zone. The next start goes on: one account, one order, no answer to a challenge and no TXT record left behind.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPebble } from 'svc/plugins/acme/testing'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { eventually } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { requireProgram } from '../wire/clients.ts'
import { startServer, type TestServer, withMasterKey, workerCount } from '../wire/server.ts'
import { type AuthorityProxy, startAuthorityProxy, startDnsProxy } from './authority-proxy.ts'

const { skip } = requireProgram('pebble')
const configFile = join(import.meta.dirname, '../wire/certificate-wishes.json')

/** Of an order, workers do no more than to answer the authority by http-01: with them it is killed where it waits for these answers. */
const isBrief = workerCount > 0 && process.env.TEST_LONG === undefined
const answeredByWorkers = new Set(['publish', 'validate'])

/** What each step asks of pebble, and what it has written by then where that takes a while. */
const steps: readonly (readonly [name: string, path: RegExp, done?: RegExp])[] = [
  ['account', /^\/sign-me-up/],
  ['order', /^\/order-plz/],
  ['publish', /^\/authZ\//],
  ['validate', /^\/chalZ\//, /set VALID/],
  ['finalize', /^\/finalize-order\//],
  ['download', /^\/certZ\//],
]

interface Round {
  /** Of the certificate. */
  readonly id: string
  readonly where: string
  readonly wish: object | readonly string[]
  /** Begins to hold; resolves when the request has come. */
  hold(): Promise<void>
  release(): void
}

/** With what the server knows the authority and the certificates that it orders. */
function lifeWith(proxy: AuthorityProxy, wishesFile: string, environment: Readonly<Record<string, string>>) {
  writeFileSync(wishesFile, '{}')
  return {
    ...environment,
    SVC_ACME_DIRECTORY: proxy.directory,
    SVC_ACME_CA_CERT: proxy.caFile,
    TEST_WISHES_FILE: wishesFile,
  }
}

/** One order, asked of a server that runs, killed where it is held and continued by the next start. */
async function killed(t: Test, server: TestServer, proxy: AuthorityProxy, wishesFile: string, round: Round) {
  const { id, where, wish } = round
  const ordersBefore = proxy.made['/order-plz'] ?? 0
  const reached = round.hold()
  // Whole or not at all, for a server that reads it at any time.
  writeFileSync(`${wishesFile}.new`, JSON.stringify({ [id]: wish }))
  renameSync(`${wishesFile}.new`, wishesFile)
  await reached
  await server.kill()
  round.release()
  await server.start()
  const { call } = createAdminClient(server)
  const certificate = await eventually(
    () => call('GET', `/certificates/${id}`),
    ({ state }) => state === 'valid' || state === 'failed',
  )
  t.match(certificate, { state: 'valid', acme: { attempts: 0, step: '' } }, where)
  t.equal((proxy.made['/order-plz'] ?? 0) - ordersBefore, 1, `${where}: one order`)
}

const whereOf = (name: string, isAfter: boolean) => `${name}, ${isAfter ? 'before its answer' : 'before its request'}`

t.test('an order by http-01 survives kill -9 in each of its steps', { skip }, async t => {
  const server = await startServer({ environment: { SVC_CONFIG_FILE: configFile, ...withMasterKey } })
  t.teardown(() => server.remove())
  await server.stop()
  const pebble = await startPebble(t, { httpPort: server.port, tlsPort: server.port, nonceRejects: 0 })
  const environment = {
    ...withMasterKey,
    SVC_CONFIG_FILE: configFile,
    SVC_ACME_DNS_NAMESERVERS: pebble.dnsServer,
    SVC_ACME_HTTP_PORT: String(server.port),
  }
  const proxy = await startAuthorityProxy(t, pebble)
  const wishesFile = join(server.folder, 'wishes.json')
  await server.start(lifeWith(proxy, wishesFile, environment))
  let count = 0
  for (const [name, path, done] of steps) {
    if (isBrief && !answeredByWorkers.has(name)) continue
    // There is one account: what is interrupted is its first request, and of that the worse half, whose answer is lost.
    for (const isAfter of name === 'account' ? [true] : [false, true]) {
      const id = `k${++count}`
      await killed(t, server, proxy, wishesFile, {
        id,
        where: whereOf(name, isAfter),
        wish: [`${id}.test`],
        hold: () => proxy.hold({ path, isAfter, done }),
        release: proxy.release,
      })
    }
  }
  await server.stop()
  t.equal(proxy.made['/sign-me-up'], 1, 'one account')
  const tokens = [...pebble.log().matchAll(/acme-challenge\/([\w-]+)/g)].map(([, token]) => token)
  t.ok(tokens.length > 0)
  await server.start(environment)
  for (const token of new Set(tokens)) {
    const answer = await fetch(`http://127.0.0.1:${server.port}/.well-known/acme-challenge/${token}`)
    if (answer.status === 200) t.fail('an answer to a challenge is left')
  }
})

t.test(
  'an order by dns-01 survives it, too, and leaves no TXT record',
  { skip: skip || skipWithoutNamed() || (isBrief && 'no worker takes part') },
  async t => {
    const zone = 'kill.test'
    const named = await startNamed(t, { zones: { [zone]: [] }, fixedZones: ['test'] })
    const changes = await startDnsProxy(t, named.port)
    const environment = { ...withMasterKey, SVC_CONFIG_FILE: configFile, SVC_ACME_DNS_NAMESERVERS: named.server }
    const server = await startServer({ environment })
    t.teardown(() => server.remove())
    await createAdminClient(server).call('POST', '/dns-providers', {
      name: 'main',
      type: 'rfc2136',
      rfc2136: { nameserver: changes.server, tsigKeyName: named.key.name },
      credentials: { tsigSecret: named.key.secret },
      ttl: 1,
      pollingInterval: '100ms',
    })
    await server.stop()
    const pebble = await startPebble(t, { httpPort: 9, tlsPort: 9, nonceRejects: 0, dnsServer: named.server })
    const proxy = await startAuthorityProxy(t, pebble)
    const wishesFile = join(server.folder, 'wishes.json')
    await server.start(lifeWith(proxy, wishesFile, environment))
    const authorityRounds = steps
      .filter(([name]) => name !== 'account')
      .map(([name, path, done]) => [name, (isAfter: boolean) => proxy.hold({ path, isAfter, done })] as const)
    const changeRounds = ['a value is published', 'a value is removed'].map(
      (name, skipped) => [name, (isAfter: boolean) => changes.hold({ isAfter, skipped })] as const,
    )
    let count = 0
    for (const [name, hold] of [...authorityRounds, ...changeRounds]) {
      for (const isAfter of [false, true]) {
        const id = `d${++count}`
        const domain = `${id}.${zone}`
        const where = whereOf(name, isAfter)
        await killed(t, server, proxy, wishesFile, {
          id,
          where,
          wish: { domains: [domain], challenge: 'dns-01', dnsProvider: 'main' },
          hold: () => hold(isAfter),
          release() {
            proxy.release()
            changes.release()
          },
        })
        await eventually(
          () => named.values(`_acme-challenge.${domain}`),
          values => values.length === 0,
        )
        t.pass(`${where}: no value is left`)
      }
    }
  },
)
