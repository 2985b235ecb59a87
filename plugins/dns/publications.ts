/**
 * Publications, in the main thread. A publication is in one of these states:
 *
 * | State | Document | In `owned` | What happens next |
 * |---|---|---|---|
 * | none | no | no | |
 * | owned | yes | yes | its owner cleans it up; after a day its state is `left` |
 * | left | yes | no | the cleaner removes it, not before `keepUntilMs` |
 *
 * | Event | From | To |
 * |---|---|---|
 * | `present` begins | none, left | owned: the document is durable before the request to the provider |
 * | `present` fails permanently (`PermanentDnsError`) | owned | none if this was the first attempt: nothing was changed |
 * | `present` fails otherwise, or is aborted | owned | left: the value may be published |
 * | the provider has confirmed a removal | owned, left | none |
 * | a removal fails | owned, left | left |
 * | the server ends or crashes | owned | left |
 *
 * Invariants: (1) every published value has a document; (2) a document is deleted only after the provider has confirmed the removal, or
 * every server has answered without the value; (3) a provider is deleted only while no document names it.
 */
import { createHash } from 'node:crypto'
import type { Clock, Logger } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { StoredDocument, StoreService } from 'svc/plugins/store/api'
import type { DnsChallenge, DnsPublication } from './api.ts'
import type { ProviderChanges } from './changes.ts'
import type { DnsDocuments, PublicationDocument } from './documents.ts'
import { dnsErrors } from './errors.ts'
import { failureOf } from './failure.ts'
import { locate } from './location.ts'
import type { Lookups } from './lookups.ts'
import { canonicalName, nameProblem } from './name.ts'
import { PermanentDnsError } from './permanent-error.ts'
import type { Propagation } from './propagation.ts'
import { noProvider } from './providers.ts'
import type { Turns } from './turns.ts'

export const publicationsMax = 1000
const keepMsMax = 3_600_000
const valuePattern = /^[\x21-\x7e]{1,255}$/
const ownerPattern = /^[\x21-\x7e]{1,128}$/

export interface PublicationsOptions {
  readonly store: StoreService
  readonly documents: DnsDocuments
  readonly clock: Clock
  readonly log: Logger
  readonly lookups: Lookups
  readonly propagation: Propagation
  readonly changes: ProviderChanges
  readonly turns: Turns
}

export interface Publications {
  present(challenge: DnsChallenge, signal: AbortSignal): Promise<DnsPublication>
  propagate(id: string, signal: AbortSignal): Promise<void>
  /** `isRepeated`: transient failures are retried, three attempts in all. */
  cleanUp(id: string, options: { readonly signal: AbortSignal; readonly isRepeated: boolean }): Promise<void>
  /** The publications in the store. */
  list(): Promise<readonly StoredDocument<PublicationDocument>[]>
  /** Since when this process has an owner for it, on the clock; undefined: it has none. */
  ownedSinceMs(id: string): number | undefined
  /** Deletes a document whose value is already gone. */
  forget(id: string): Promise<void>
  /** Work that the publication of a provider must not come between. */
  whileUnpublished<T>(provider: string, work: () => Promise<T>): Promise<T>
}

export function createPublications(options: PublicationsOptions): Publications {
  const { store, documents, clock, lookups, propagation, changes, turns } = options
  const { providers, publications } = documents
  const owned = new Map<string, number>()
  const turnOf = (provider: string) => `provider ${provider}`

  async function requireDocument(id: string): Promise<PublicationDocument> {
    const document = await publications.get(id)
    if (document === undefined) throw dnsErrors.invalid_argument('There is no such publication: it was cleaned up.')
    return document.value
  }

  /** Writes the document of a publication that is about to be. */
  async function record(id: string, challenge: DnsChallenge, signal: AbortSignal): Promise<PublicationDocument> {
    const { provider, owner, name, value, keepMs = 0 } = challenge
    const before = await publications.get(id)
    const { record, zone } = before?.value ?? (await locate(lookups, name, signal))
    return turns.run(turnOf(provider), async () => {
      const document = await providers.get(provider)
      if (document === undefined) throw noProvider(provider)
      if (before === undefined && (await publications.list()).documents.length >= publicationsMax) {
        throw dnsErrors.too_many_requests()
      }
      const { ttlSeconds } = before?.value ?? document.value
      const nowMs = clock.now()
      const keepUntilMs = keepMs === 0 ? 0 : nowMs + Math.min(keepMs, keepMsMax)
      const publication = { provider, owner, name, record, zone, value, ttlSeconds, publishedMs: nowMs, keepUntilMs }
      await store.transaction(tx => {
        tx.require(providers, provider, { ifMatch: '*' })
        tx.put(publications, id, publication)
      })
      return publication
    })
  }

  async function present(challenge: DnsChallenge, signal: AbortSignal): Promise<DnsPublication> {
    requireChallenge(challenge)
    if ((await providers.get(challenge.provider)) === undefined) throw noProvider(challenge.provider)
    const id = idOf(challenge)
    const isFirst = (await publications.get(id)) === undefined
    owned.set(id, clock.now())
    try {
      const publication = await record(id, challenge, signal)
      await changes.make('present', publication, { signal, isRepeated: true })
      return viewOf(id, publication)
    } catch (error) {
      owned.delete(id)
      // It is for the cleaner from now on, also where the owner wanted to keep it.
      if (error instanceof PermanentDnsError && isFirst) await publications.delete(id)
      else await release(id)
      throw failureOf('present', error)
    }
  }

  async function release(id: string): Promise<void> {
    await publications.update(id, current => current && { ...current.value, keepUntilMs: 0 })
  }

  return {
    present,
    async propagate(id, signal) {
      const publication = await requireDocument(id)
      const provider = await providers.get(publication.provider)
      if (provider === undefined) throw noProvider(publication.provider)
      const { pollingIntervalMs, propagationTimeoutMs: timeoutMs } = provider.value
      const { ttlSeconds } = publication
      try {
        await propagation.wait(publication, { pollingIntervalMs, timeoutMs, ttlSeconds }, signal)
      } catch (error) {
        throw failureOf('propagation', error)
      }
    },
    async cleanUp(id, { signal, isRepeated }) {
      const document = await publications.get(id)
      if (document === undefined) return
      try {
        await changes.make('cleanup', document.value, { signal, isRepeated })
        await publications.delete(id)
      } catch (error) {
        await release(id)
        throw failureOf('cleanup', error)
      } finally {
        owned.delete(id)
      }
    },
    list: async () => (await publications.list()).documents,
    ownedSinceMs: id => owned.get(id),
    async forget(id) {
      await publications.delete(id)
    },
    whileUnpublished: (provider, work) => turns.run(turnOf(provider), work),
  }
}

function idOf({ provider, name, value }: DnsChallenge): string {
  return createHash('sha256')
    .update(JSON.stringify([provider, name, value]))
    .digest('hex')
    .slice(0, 32)
}

export function viewOf(id: string, publication: PublicationDocument): DnsPublication {
  const { ttlSeconds: _, keepUntilMs: __, ...view } = publication
  return { id, ...view }
}

function requireChallenge({ name, value, owner, keepMs = 0 }: DnsChallenge): void {
  const problem =
    name !== canonicalName(name) || nameProblem(name) !== undefined
      ? 'name is no domain name in lower-case A-labels without a final dot'
      : !valuePattern.test(value)
        ? 'value is 1 to 255 visible ASCII characters'
        : !ownerPattern.test(owner)
          ? 'owner is 1 to 128 visible ASCII characters'
          : !(keepMs >= 0 && keepMs <= keepMsMax)
            ? `keepMs is 0 to ${keepMsMax}`
            : undefined
  if (problem !== undefined) throw dnsErrors.invalid_argument(`${problem}.`)
}

/** Whether it is the answer that a provider, or DNS, gave: not a failure of the server itself. */
export function isUpstreamFailure(error: unknown): boolean {
  return isCatalogError(error) && error.code === 'upstream_failure'
}
