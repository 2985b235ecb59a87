/** The services in every thread; publications are in the main thread, which the other threads call. */
import type { Random, Threads } from 'svc/kernel'
import type { DnsChallenge, DnsProvidersService, DnsPublication, DnsService, DnsTestOutcome } from './api.ts'
import { findCaa } from './caa.ts'
import type { Lookups } from './lookups.ts'
import type { ProviderTests } from './provider-test.ts'
import type { Providers } from './providers.ts'
import { type Publications, viewOf } from './publications.ts'

const main = 0
const message = {
  present: 'dns.present',
  propagate: 'dns.propagate',
  cleanUp: 'dns.clean-up',
  publications: 'dns.publications',
  test: 'dns.test',
  delete: 'dns.delete-provider',
  abort: 'dns.abort',
} as const

/** A request, with the name by which its caller aborts it. */
interface Asked<T> {
  readonly call: string
  readonly request: T
}

export interface ServiceOptions {
  readonly threads: Threads
  readonly random: Random
  readonly publications: Publications
  readonly tests: ProviderTests
  readonly providers: Providers
  readonly lookups: Lookups
}

export interface CreatedServices {
  readonly dns: DnsService
  readonly dnsProviders: DnsProvidersService
  /** Aborts running work; resolves when tests have removed their values. Idempotent. */
  stop(): Promise<void>
}

/** During set-up, in every thread. */
export function createServices({
  threads,
  random,
  publications,
  tests,
  providers,
  lookups,
}: ServiceOptions): CreatedServices {
  const stopping = new AbortController()
  const calls = new Map<string, AbortController>()

  /** Work that ends with the server or on the caller's signal. */
  async function run<T, R>(
    { call, request }: Asked<T>,
    work: (request: T, signal: AbortSignal) => Promise<R>,
  ): Promise<R> {
    const controller = new AbortController()
    calls.set(call, controller)
    try {
      return await work(request, AbortSignal.any([stopping.signal, controller.signal]))
    } finally {
      calls.delete(call)
    }
  }

  const serve = <T, R>(name: string, work: (request: T, signal: AbortSignal) => Promise<R>) =>
    threads.handle(name, (asked: Asked<T>) => run(asked, work))

  if (threads.isMain) {
    serve(message.present, (challenge: DnsChallenge, signal) => publications.present(challenge, signal))
    serve(message.propagate, (id: string, signal) => publications.propagate(id, signal))
    serve(message.cleanUp, (id: string, signal) => publications.cleanUp(id, { signal, isRepeated: true }))
    serve(message.test, ({ name, domain }: { name: string; domain: string }, signal) => tests.run(name, domain, signal))
    serve(message.publications, async () => (await publications.list()).map(({ id, value }) => viewOf(id, value)))
    serve(message.delete, ({ name, ifMatch }: { name: string; ifMatch?: string }) =>
      publications.whileUnpublished(name, () => providers.delete(name, ifMatch)),
    )
    threads.handle(message.abort, (call: string) => calls.get(call)?.abort(ended()))
  }

  async function ask<R>(name: string, request: unknown, signal?: AbortSignal): Promise<R> {
    signal?.throwIfAborted()
    const call = random.bytes(8).toString('hex')
    const abort = () => threads.post(main, message.abort, call)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return await threads.call<R>(main, name, { call, request })
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  return {
    dns: {
      present: (challenge, signal) => ask<DnsPublication>(message.present, challenge, signal),
      propagate: (id, signal) => ask<void>(message.propagate, id, signal),
      cleanUp: id => ask<void>(message.cleanUp, id),
      publications: () => ask<readonly DnsPublication[]>(message.publications, undefined),
      caa: (domain, signal) => findCaa(lookups, domain, signal),
      addresses: lookups.allAddresses,
    },
    dnsProviders: {
      ...providers,
      delete: (name, ifMatch) => ask<void>(message.delete, { name, ifMatch }),
      test: (name, domain) => ask<DnsTestOutcome>(message.test, { name, domain }),
    },
    async stop() {
      stopping.abort(ended())
      await tests.settled()
    },
  }
}

const ended = (): Error => new Error('it was ended before it was done')
