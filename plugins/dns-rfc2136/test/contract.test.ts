/** Real bind9: the contract over TCP and UDP, each algorithm, refusals in words, answers that nobody signed. */
import { createServer } from 'node:net'
import { dnsProviderContract } from 'svc/plugins/dns/contract'
import { type Named, skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { guardedClientContract } from 'svc/plugins/http-client/contract'
import { createFakeClock, createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { connectRfc2136 } from '../provider.ts'
import { Rfc2136Settings, settingsProblems } from '../settings.ts'
import { tsigAlgorithms } from '../tsig.ts'

const zone = 'example.test'
const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
const { clock } = createSystemPorts()
const never = new AbortController().signal

const settingsOf = ({ server, key }: Named, others: Partial<Rfc2136Settings> = {}): Rfc2136Settings => ({
  nameserver: server,
  transport: 'tcp',
  tsigKeyName: key.name,
  tsigAlgorithm: key.algorithm as Rfc2136Settings['tsigAlgorithm'],
  tsigSecret: key.secret,
  ...others,
})

const kind = {
  description: '',
  settings: Rfc2136Settings,
  validate: (settings: Rfc2136Settings) => settingsProblems(settings, guard),
  connect: connectRfc2136,
}

const record = { name: `_acme-challenge.a.${zone}`, zone, value: 'value', ttlSeconds: 60 }
const otherSecret = Buffer.alloc(32, 7).toString('base64')

for (const transport of ['tcp', 'udp'] as const) {
  t.test(`bind9 over ${transport} keeps the contract`, { skip: skipWithoutNamed() }, t =>
    dnsProviderContract(t, async t => {
      const named = await startNamed(t, { zones: { [zone]: [] } })
      const settings = settingsOf(named, { transport })
      return {
        kind,
        settings,
        zone,
        values: named.values,
        hang: named.hang,
        wrongCredentials: { ...settings, tsigSecret: otherSecret },
        unknownZone: { settings, zone: 'unknown.test' },
      }
    }),
  )
}

t.test('bind9 accepts the signature of every algorithm', { skip: skipWithoutNamed() }, async t => {
  for (const algorithm of tsigAlgorithms) {
    const named = await startNamed(t, { zones: { [zone]: [] }, algorithm })
    const provider = connectRfc2136(settingsOf(named), { guard, clock })
    await provider.present(record, never)
    t.same(await named.values(record.name), ['value'], algorithm)
    await named.stop()
  }
})

t.test('refusals of bind9 are explained', { skip: skipWithoutNamed() }, async t => {
  const named = await startNamed(t, { zones: { [zone]: [] }, fixedZones: ['fixed.test'] })
  const failure = async (others: Partial<Rfc2136Settings>, changed = record, at = clock) => {
    const provider = connectRfc2136(settingsOf(named, others), { guard, clock: at })
    return provider.present(changed, never).then(
      () => 'it succeeded',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  }
  t.match(
    await failure({ tsigSecret: otherSecret }),
    /^PermanentDnsError: .*BADSIG.* the secret of the key svc-key is another one/,
  )
  t.match(await failure({ tsigKeyName: 'nobody' }), /^PermanentDnsError: .*key nobody with this algorithm \(BADKEY\)/)
  t.match(await failure({ tsigAlgorithm: 'hmac-sha512' }), /^PermanentDnsError: .*BADKEY/)
  const fixed = { ...record, name: '_acme-challenge.fixed.test', zone: 'fixed.test' }
  t.match(await failure({}, fixed), /^PermanentDnsError: .*REFUSED.*svc-key may not change the zone fixed\.test/)
  t.match(
    await failure({}, { ...record, name: 'a.else.test', zone: 'else.test' }),
    /^PermanentDnsError: .*else\.test.*NOTAUTH/,
  )
  t.match(
    await failure({ zone: 'fixed.test' }),
    /^PermanentDnsError: .* is not in the zone fixed\.test of the provider/,
  )
  t.match(await failure({}, record, createFakeClock(Date.now() - 600_000)), /^Error: the clocks .*BADTIME/)
  t.same(await named.values(record.name), [])
  await named.stop()
  t.match(await failure({}), /^Error: the nameserver 127\.0\.0\.1:\d+: connect ECONNREFUSED/)
})

/** Stands where the server should, and answers each update with `answer`. */
async function startImpostor(t: Test, answer: (request: Buffer) => Buffer): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', request => {
      const message = answer(request.subarray(2))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(message.length)
      socket.end(Buffer.concat([length, message]))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `127.0.0.1:${(server.address() as { port: number }).port}`
}

t.test('a success counts only where the server has signed it', async t => {
  const bare: Rfc2136Settings = {
    nameserver: '',
    transport: 'tcp',
    tsigKeyName: 'svc-key',
    tsigAlgorithm: 'hmac-sha256',
    tsigSecret: otherSecret,
  }
  const attempt = async (answer: (request: Buffer) => Buffer) => {
    const nameserver = await startImpostor(t, answer)
    return connectRfc2136({ ...bare, nameserver }, { guard, clock }).present(record, never)
  }
  const asAnswer = (request: Buffer) => {
    const answer = Buffer.from(request)
    answer[2]! |= 0x80
    return answer
  }
  const unsigned = (request: Buffer) => {
    const header = asAnswer(request).subarray(0, 12)
    header.fill(0, 4)
    return header
  }
  await t.rejects(attempt(unsigned), /the answer is not signed with the key/)
  // The signature of the request, sent back, is none of an answer.
  await t.rejects(attempt(asAnswer), /the answer is not signed with the key/)
  await t.rejects(
    attempt(request => unsigned(request).subarray(0, 5)),
    /gave a malformed answer/,
  )
  await t.rejects(
    attempt(request => asAnswer(request).subarray(0, 60)),
    /gave a malformed answer/,
  )
})

t.test('connections are limited to allowed addresses', t =>
  guardedClientContract(t, async () => ({
    attempt: (guard, host, port) =>
      connectRfc2136(
        {
          nameserver: `${host}:${port}`,
          transport: 'tcp',
          tsigKeyName: 'k',
          tsigAlgorithm: 'hmac-sha256',
          tsigSecret: otherSecret,
        },
        { guard, clock },
      ).present(record, never),
  })),
)

t.test('settings that cannot be right are named', t => {
  const good: Rfc2136Settings = {
    nameserver: 'ns.example.com',
    transport: 'tcp',
    tsigKeyName: 'key.',
    tsigAlgorithm: 'hmac-sha256',
    tsigSecret: otherSecret,
  }
  t.same(settingsProblems(good, guard), [])
  const keys = (others: Partial<Rfc2136Settings>) =>
    settingsProblems({ ...good, ...others }, guard).map(({ key }) => key)
  for (const nameserver of [
    'a b',
    'host:0',
    'host:70000',
    '::1:53x',
    '[::1',
    '1.2.3',
    '169.254.169.254',
    '[fe80::1]:53',
  ]) {
    t.same(keys({ nameserver }), ['nameserver'], nameserver)
  }
  for (const nameserver of ['127.0.0.1', '[::1]:5353', '::1', 'ns:53']) t.same(keys({ nameserver }), [], nameserver)
  t.same(keys({ zone: 'a..b', tsigKeyName: 'ä', tsigSecret: 'not base64!' }), ['zone', 'tsigKeyName', 'tsigSecret'])
  t.end()
})
