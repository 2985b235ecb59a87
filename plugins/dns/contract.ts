/**
 * The contract suite of the extension point `dns.provider`: the guarantees that the plugin `dns` relies on. `test/contract.test.ts` of each kind runs it:
 *
 *     t.test('the provider keeps the contract', t => dnsProviderContract(t, async t => {
 *       const server = await startMyServer(t)
 *       return { kind, settings: server.settings, zone: 'example.test', values: server.values, … }
 *     }))
 */
import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Clock } from 'svc/kernel'
import { type AddressGuard, createAddressGuard } from 'svc/plugins/http-client/api'
import { type ContractSuite, contractSuite, createSystemPorts } from 'svc/testing'
import type { Test } from 'tap'
import type { AnyDnsProviderKind, DnsProvider, DnsRecord } from './api.ts'

export interface DnsProviderSubject {
  readonly kind: AnyDnsProviderKind
  /** Complete, with credentials that may change the zone. */
  readonly settings: Readonly<Record<string, unknown>>
  /** A zone that the settings reach, without records at the names of the suite. */
  readonly zone: string
  /** The TXT values that the provider has at a name, in any order. */
  values(name: string): Promise<readonly string[]>
  /** Makes the provider accept requests and answer none. The suite does not use the subject afterwards. */
  hang(): Promise<void> | void
  /** Settings whose credentials are well-formed but wrong. */
  readonly wrongCredentials: Readonly<Record<string, unknown>>
  /** Settings, and a zone that the provider does not have. Default: the same settings, and `unknown.test`. */
  readonly unknownZone?: { readonly settings: Readonly<Record<string, unknown>>; readonly zone: string }
  readonly clock?: Clock
  readonly guard?: AddressGuard
}

const abortMsMax = 1000
const never = () => new AbortController().signal

function connect(t: Test, subject: DnsProviderSubject, settings = subject.settings): DnsProvider {
  const { kind, clock = createSystemPorts().clock } = subject
  const guard = subject.guard ?? createAddressGuard({ reach: 'private', allowedNetworks: [] })
  const log = pino(new Writable({ write: (_chunk, _encoding, done) => done() })) as never
  const provider = kind.connect(settings as never, { guard, log, clock })
  t.teardown(() => provider.close())
  return provider
}

const recordOf = ({ zone }: { zone: string }, label: string, value: string): DnsRecord => ({
  name: `_acme-challenge.${label}.${zone}`,
  zone,
  value,
  ttlSeconds: 60,
})

const sorted = async (values: Promise<readonly string[]>): Promise<readonly string[]> => [...(await values)].sort()

async function failureOf(attempt: Promise<unknown>): Promise<Error> {
  const error = await attempt.then(
    () => new Error('it succeeded'),
    (error: unknown) => error as Error,
  )
  return error
}

/** The error contains no secret of the settings, in any form. */
function hasNoSecret(t: Test, { kind }: DnsProviderSubject, settings: Readonly<Record<string, unknown>>, error: Error) {
  const fields = Object.entries(kind.settings.properties) as [string, { secret?: boolean }][]
  for (const [name] of fields.filter(([, field]) => field.secret === true)) {
    const secret = settings[name]
    if (typeof secret === 'string') t.notOk(error.message.includes(secret), `${name} is not in the message`)
  }
}

export const dnsProviderContract: ContractSuite<DnsProviderSubject> = contractSuite('dns provider', {
  'values at one name are added and removed one by one': async (t, subject) => {
    const provider = connect(t, subject)
    const [apex, wildcard] = [
      recordOf(subject, 'two', 'value-of-apex_1'),
      recordOf(subject, 'two', 'value-of-wildcard-2'),
    ]
    await provider.present(apex, never())
    t.same(await subject.values(apex.name), [apex.value])
    await provider.present(wildcard, never())
    t.same(await sorted(subject.values(apex.name)), [apex.value, wildcard.value])
    await provider.cleanup(apex, never())
    t.same(await subject.values(apex.name), [wildcard.value])
    await provider.cleanup(wildcard, never())
    t.same(await subject.values(apex.name), [])
  },

  'to add or remove a value again changes nothing': async (t, subject) => {
    const provider = connect(t, subject)
    const [one, other] = [recordOf(subject, 'again', 'one'), recordOf(subject, 'again', 'other')]
    for (let i = 0; i < 2; i++) await provider.present(one, never())
    t.same(await subject.values(one.name), ['one'])
    await provider.present(other, never())
    for (let i = 0; i < 2; i++) await provider.cleanup(one, never())
    t.same(await subject.values(one.name), ['other'])
    await provider.cleanup(other, never())
    await provider.cleanup(recordOf(subject, 'never', 'absent'), never())
  },

  'a value may have 255 characters, and quotes, backslashes and semicolons are characters': async (t, subject) => {
    const provider = connect(t, subject)
    for (const value of ['v'.repeat(255), '"quoted"\\and;more']) {
      const record = recordOf(subject, 'text', value)
      await provider.present(record, never())
      t.same(await subject.values(record.name), [value])
      await provider.cleanup(record, never())
      t.same(await subject.values(record.name), [])
    }
  },

  'another connection removes a value that one has added': async (t, subject) => {
    const record = recordOf(subject, 'restart', 'left')
    const first = connect(t, subject)
    await first.present(record, never())
    await first.close()
    await first.close()
    await connect(t, subject).cleanup(record, never())
    t.same(await subject.values(record.name), [])
  },

  'wrong credentials are permanent, and change nothing': async (t, subject) => {
    const provider = connect(t, subject, subject.wrongCredentials)
    const record = recordOf(subject, 'wrong', 'value')
    for (const method of ['present', 'cleanup'] as const) {
      const error = await failureOf(provider[method](record, never()))
      t.match(error, { name: 'PermanentDnsError' }, error.message)
      hasNoSecret(t, subject, subject.wrongCredentials, error)
    }
    t.same(await subject.values(record.name), [])
  },

  'an unknown zone is permanent': async (t, subject) => {
    const { settings, zone } = subject.unknownZone ?? { settings: subject.settings, zone: 'unknown.test' }
    const error = await failureOf(connect(t, subject, settings).present(recordOf({ zone }, 'a', 'value'), never()))
    t.match(error, { name: 'PermanentDnsError' }, error.message)
    t.match(error.message, zone.split('.')[0], 'it names the zone')
    hasNoSecret(t, subject, settings, error)
  },

  'an abort ends the wait for a silent provider within a second': async (t, subject) => {
    const provider = connect(t, subject)
    await subject.hang()
    for (const method of ['present', 'cleanup'] as const) {
      const controller = new AbortController()
      const attempt = failureOf(provider[method](recordOf(subject, 'hang', 'value'), controller.signal))
      setTimeout(() => controller.abort(new Error('given up')), 50)
      const startedMs = performance.now()
      const error = await attempt
      t.not(error.name, 'PermanentDnsError', error.message)
      t.ok(performance.now() - startedMs < abortMsMax + 2000, `${method} ends`)
    }
    await provider.close()
  },
})
