/** One change at a provider: connected for it, in its turn, within a deadline, repeated where that may help. */
import type { Clock, Logger } from 'svc/kernel'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { DnsProvider } from './api.ts'
import type { DnsDocuments, ProviderDocument, PublicationDocument } from './documents.ts'
import type { CountChange } from './families.ts'
import { completeSettings, type Kinds } from './kinds.ts'
import { PermanentDnsError } from './permanent-error.ts'
import { noProvider } from './providers.ts'
import type { Turns } from './turns.ts'
import { pause, withDeadline } from './waiting.ts'

/** Some providers answer when all of their servers have the value, which takes a minute. */
const attemptMs = 90_000
const retryMs = [1000, 4000] as const

export interface ChangesOptions {
  readonly documents: DnsDocuments
  readonly kinds: () => Kinds
  readonly guard: AddressGuard
  readonly clock: Clock
  readonly log: Logger
  readonly count: CountChange
  readonly turns: Turns
}

export interface ProviderChanges {
  /** Rejects with the provider's error, or with `dns_provider_not_found`. */
  make(
    method: 'present' | 'cleanup',
    publication: PublicationDocument,
    options: { readonly signal: AbortSignal; readonly isRepeated: boolean },
  ): Promise<void>
}

export function createProviderChanges(options: ChangesOptions): ProviderChanges {
  const { documents, kinds, guard, clock, log, count, turns } = options

  function connect({ type, settings, credentials }: ProviderDocument): DnsProvider {
    const kind = kinds().get(type)
    if (kind === undefined) throw new PermanentDnsError(`no loaded plugin knows the type ${type} of the DNS provider`)
    return kind.kind.connect(completeSettings(kind, settings, credentials), { guard, log, clock })
  }

  async function attempt(
    method: 'present' | 'cleanup',
    { provider: name, record, zone, value, ttlSeconds }: PublicationDocument,
    signal: AbortSignal,
  ): Promise<void> {
    const document = await documents.providers.get(name)
    if (document === undefined) throw noProvider(name)
    const provider = connect(document.value)
    const change = { name: record, zone, value, ttlSeconds }
    try {
      await withDeadline({ clock, timeoutMs: attemptMs, signal, what: `the DNS provider ${name}` }, signal =>
        provider[method](change, signal),
      )
      count(document.value.type, 'ok')
    } catch (error) {
      count(document.value.type, 'failed')
      throw error
    } finally {
      await provider.close()
    }
  }

  return {
    make: (method, publication, { signal, isRepeated }) =>
      turns.run(`zone ${publication.provider} ${publication.zone}`, async () => {
        for (const delayMs of isRepeated ? retryMs : []) {
          try {
            return await attempt(method, publication, signal)
          } catch (error) {
            if (error instanceof PermanentDnsError || signal.aborted) throw error
            log.debug(
              { err: error, provider: publication.provider, record: publication.record },
              'a DNS change is tried again',
            )
          }
          await pause(clock, delayMs, signal)
        }
        return attempt(method, publication, signal)
      }),
  }
}
