/** Where values have to be published, and where they are looked for: real name servers, as the resolver of a machine sees them. */
import { createSocket } from 'node:dgram'
import { AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { createAddressGuard } from 'svc/plugins/http-client/api'
import { createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { locate } from '../location.ts'
import { createLookups } from '../lookups.ts'
import { domainOf, nameProblem } from '../name.ts'
import { parseNameserver } from '../nameserver.ts'
import { createPropagation } from '../propagation.ts'

const never = new AbortController().signal
const { clock } = createSystemPorts()

t.test('zones and CNAMEs', { skip: skipWithoutNamed() }, async t => {
  const chain = Array.from({ length: 9 }, (_, i) => `c${i} IN CNAME c${i + 1}`)
  const named = await startNamed(t, {
    zones: {
      'example.test': [
        // Its SOA is asked for, and a resolver answers with the SOA of the apex.
        'www IN CNAME example.test.',
        '_acme-challenge.out IN CNAME proof.other.test.',
        'one IN CNAME two',
        'two IN CNAME one',
        ...chain,
        'sub IN NS ns.example.test.',
      ],
      'sub.example.test': [],
      'other.test': [],
    },
  })
  const lookups = createLookups([parseNameserver(named.server)])
  const at = (name: string) => locate(lookups, name, never)
  const found: Record<string, [record: string, zone: string]> = {
    '_acme-challenge.example.test': ['_acme-challenge.example.test', 'example.test'],
    '_acme-challenge.www.example.test': ['_acme-challenge.www.example.test', 'example.test'],
    '_acme-challenge.a.b.sub.example.test': ['_acme-challenge.a.b.sub.example.test', 'sub.example.test'],
    '_acme-challenge.out.example.test': ['proof.other.test', 'other.test'],
    'c1.example.test': ['c9.example.test', 'example.test'],
  }
  for (const [name, [record, zone]] of Object.entries(found)) t.same(await at(name), { record, zone }, name)
  await t.rejects(at('one.example.test'), /the CNAMEs of one\.example\.test lead to themselves/)
  await t.rejects(at('c0.example.test'), /leads through more than 8 CNAMEs/)
  await t.rejects(at('nowhere.test'), /refuses to answer about nowhere\.test/)
  const controller = new AbortController()
  await named.hang()
  const attempt = locate(lookups, 'a.example.test', controller.signal)
  setTimeout(() => controller.abort(new Error('given up')), 20)
  await t.rejects(attempt, /given up/)
})

/** A server that has not heard of the newest value: bind9 listens on addresses of interfaces only, and there is one. */
async function startSecondary(t: Test, port: number, name: string, values: readonly string[]): Promise<void> {
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { id, questions } = decode(message)
    const answers = values.map(data => ({ type: 'TXT' as const, name, data }))
    socket.send(encode({ type: 'response', id, flags: AUTHORITATIVE_ANSWER, questions, answers }), port, address)
  })
  await new Promise<void>(resolve => socket.bind(port, '127.0.0.2', resolve))
  t.teardown(() => socket.close())
}

t.test('every authoritative server has to have the value', { skip: skipWithoutNamed() }, async t => {
  const zone = 'example.test'
  const nameservers = ['@ IN NS ns1', '@ IN NS ns2', 'ns1 IN A 127.0.0.1', 'ns2 IN A 127.0.0.2']
  const record = `_acme-challenge.${zone}`
  const lines = ['_acme-challenge IN TXT "both"', '_acme-challenge IN TXT "one"']
  const first = await startNamed(t, { zones: { [zone]: lines }, nameservers })
  const { port } = first
  await startSecondary(t, port, record, ['both'])
  const lookups = createLookups([parseNameserver(first.server)])
  const guard = createAddressGuard({ reach: 'private', allowedNetworks: [] })
  const times = { pollingIntervalMs: 50, timeoutMs: 200, ttlSeconds: 0 }
  const propagation = createPropagation({ lookups, configured: [], guard, clock, authoritativePort: port })
  await propagation.wait({ record, zone, value: 'both' }, times, never)
  await t.rejects(
    propagation.wait({ record, zone, value: 'one' }, times, never),
    /^after 0\.2 s ns2\.example\.test \(127\.0\.0\.2\) does not have the value$/,
  )
  t.equal(await propagation.isAbsent({ record, zone, value: 'one' }, never), false, 'one of them has it')
  t.equal(await propagation.isAbsent({ record, zone, value: 'nowhere' }, never), true)

  const strict = createAddressGuard({ reach: 'public', allowedNetworks: ['127.0.0.1'] })
  const guarded = createPropagation({ lookups, configured: [], guard: strict, clock, authoritativePort: port })
  await t.rejects(
    guarded.wait({ record, zone, value: 'both' }, times, never),
    /the nameserver ns2\.example\.test \(127\.0\.0\.2\) of example\.test must not be a loopback address/,
  )
})

t.test('names', t => {
  for (const name of ['a', 'a.b', '_acme-challenge.a-b.c', 'xn--bcher-kva.example', 'x'.repeat(63)])
    t.equal(nameProblem(name), undefined, name)
  for (const name of ['', '.', 'a.', '-a', 'a-.b', 'a b', 'ü', 'x'.repeat(64), `${'a.'.repeat(127)}`])
    t.ok(nameProblem(name), name)
  t.equal(domainOf('*.Bücher.example.'), 'xn--bcher-kva.example')
  for (const text of ['*.*.example', '[::1]', '1.2.3.4', '0x7f.1', 'a@b.c', 'a..b', 'localhost'])
    t.equal(domainOf(text), undefined, text)
  t.same(parseNameserver('[::1]:5353'), { host: '::1', port: 5353 })
  t.same(parseNameserver('ns.example'), { host: 'ns.example', port: 53 })
  t.end()
})
