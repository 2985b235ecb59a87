/** Publishes a random value for a domain, waits for it, removes it. */
import type { Clock, Logger, Random } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { DnsStep, DnsTestOutcome } from './api.ts'
import { dnsErrors } from './errors.ts'
import { challengeName, domainOf } from './name.ts'
import { isUpstreamFailure, type Publications } from './publications.ts'

const testsMax = 4
const valueBytes = 32
/** Time for the removal if the server stops during the test. */
const removalMs = 10_000

export interface ProviderTestOptions {
  readonly publications: Publications
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface ProviderTests {
  run(provider: string, domain: string, signal: AbortSignal): Promise<DnsTestOutcome>
  /** Resolves when none is under way. */
  settled(): Promise<void>
}

interface Failure {
  readonly step: DnsStep
  readonly error: string
}

export function createProviderTests({ publications, clock, random }: ProviderTestOptions): ProviderTests {
  const underWay = new Set<Promise<unknown>>()

  async function test(provider: string, domain: string, signal: AbortSignal): Promise<DnsTestOutcome> {
    const startedNs = clock.monotonicNs()
    let record = challengeName(domain)
    const outcome = (failure?: Failure): DnsTestOutcome => {
      const durationMs = Math.round(Number(clock.monotonicNs() - startedNs) / 1e6)
      return { record, step: failure?.step, error: failure?.error ?? '', durationMs }
    }
    const value = Buffer.from(random.bytes(valueBytes)).toString('base64url')
    const presented = publications.present({ provider, name: record, value, owner: 'test' }, signal)
    const publication = await presented.catch(failureIn('present'))
    if ('step' in publication) return outcome(publication)
    record = publication.record
    const late = await publications.propagate(publication.id, signal).catch(failureIn('propagation'))
    const removal = signal.aborted ? AbortSignal.timeout(removalMs) : signal
    const removed = publications.cleanUp(publication.id, { signal: removal, isRepeated: true })
    const kept = await removed.catch(failureIn('cleanup'))
    if (!late || !kept) return outcome(late || kept || undefined)
    return outcome({ step: late.step, error: `${late.error} The value could not be removed either: ${kept.error}` })
  }

  return {
    async run(provider, text, signal) {
      const domain = domainOf(text)
      if (domain === undefined) {
        const message = 'must be a domain name, such as www.example.com'
        throw dnsErrors.invalid_argument(`domain ${message}.`, { cause: [{ element: '/domain', message }] })
      }
      if (underWay.size >= testsMax)
        throw dnsErrors.too_many_requests(`${testsMax} tests of DNS providers run already.`)
      const running = test(provider, domain, signal)
      underWay.add(running)
      try {
        return await running
      } finally {
        underWay.delete(running)
      }
    },
    async settled() {
      await Promise.allSettled([...underWay])
    },
  }
}

/** Failures of the server itself, and a provider that is not there, are no outcome of a test. */
const failureIn =
  (step: DnsStep) =>
  (error: unknown): Failure => {
    if (isCatalogError(error) && !isUpstreamFailure(error)) throw error
    return { step, error: (error as Error).message }
  }
