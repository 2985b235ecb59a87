/** Configured providers: documents that are checked by their kind when they are written, and again before they are used. */
import type { Clock, Contribution } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import {
  type DocumentUser,
  gatherUses,
  type StoredDocument,
  type StoreService,
  type Uses,
  usedBy,
} from 'svc/plugins/store/api'
import type { DnsProviderChange, DnsProviderFacts, DnsProvidersService } from './api.ts'
import type { DnsDocuments, ProviderDocument } from './documents.ts'
import { dnsErrors } from './errors.ts'
import { completeSettings, type Fields, invalidProvider, type Kind, type Kinds } from './kinds.ts'

export const defaults = { ttlSeconds: 60, propagationTimeoutMs: 120_000, pollingIntervalMs: 2000 } as const
/** A deletion that others' changes have come before is decided again. */
const attemptsMax = 8

export interface ProvidersOptions {
  readonly store: StoreService
  readonly documents: DnsDocuments
  readonly clock: Clock
  readonly kinds: () => Kinds
  readonly users: () => readonly Contribution<DocumentUser>[]
}

export interface Providers extends Omit<DnsProvidersService, 'test'> {
  /** In the main thread, where nothing is published at the same time. */
  delete(name: string, ifMatch?: string): Promise<void>
}

export function createProviders({ store, documents, clock, kinds, users }: ProvidersOptions): Providers {
  const { providers, publications } = documents

  const readUses = () => gatherUses(users().map(({ value }) => value))

  function describe(document: StoredDocument<ProviderDocument>, uses: Uses): DnsProviderFacts {
    const { id, value, etag, modifiedMs } = document
    const { credentials, ...settings } = value
    const hasCredentials = Object.values(credentials).some(secret => secret !== '')
    return { name: id, ...settings, hasCredentials, usedBy: usedBy(uses, id), etag, updatedMs: modifiedMs }
  }

  const get = async (name: string) => describe(await requireDocument(name), await readUses())

  async function requireDocument(name: string): Promise<StoredDocument<ProviderDocument>> {
    const document = await providers.get(name)
    if (document === undefined) throw noProvider(name)
    return document
  }

  async function requireUnpublished(name: string): Promise<void> {
    const { documents: published } = await publications.list()
    const left = published.find(({ value }) => value.provider === name)
    if (left === undefined) return
    const { record } = left.value
    throw dnsErrors.dns_provider_in_use(
      `A value that it has published at ${record} is still to be removed. If the provider no longer does that, remove the TXT record of ${record} there by hand; the server will see it.`,
    )
  }

  /** Undefined if another change was committed in between. */
  async function tryDelete(name: string, ifMatch: string | undefined): Promise<true | undefined> {
    const { etag } = await requireDocument(name)
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw dnsErrors.precondition_failed()
    const uses = await readUses()
    const names = usedBy(uses, name)
    if (names.length > 0)
      throw dnsErrors.dns_provider_in_use(`The DNS provider is used by ${names.slice(0, 5).join(', ')}.`)
    await requireUnpublished(name)
    try {
      await store.transaction(tx => {
        tx.delete(providers, name, { ifMatch: etag })
        uses.fence(tx)
      })
      return true
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') return undefined
      throw error
    }
  }

  return {
    async list({ startAfter, limit }) {
      const { documents: page, next } = await providers.list({ startAfter, limit })
      const uses = await readUses()
      return { items: page.map(document => describe(document, uses)), next }
    },
    get,
    async create(name, change) {
      const value = merge(kinds().require(change.type), change, undefined, clock)
      try {
        await providers.put(name, value, { ifNoneMatch: '*' })
      } catch (error) {
        if (isCatalogError(error) && error.code === 'precondition_failed') throw dnsErrors.already_exists()
        throw error
      }
      return get(name)
    },
    async put(name, change, ifMatch) {
      const kind = kinds().require(change.type)
      let isNew = false
      const document = await providers.update(name, current => {
        if (ifMatch !== undefined && (current === undefined || (ifMatch !== '*' && ifMatch !== current.etag))) {
          throw dnsErrors.precondition_failed()
        }
        isNew = current === undefined
        return merge(kind, change, current?.value, clock)
      })
      return { facts: describe(document!, await readUses()), isNew }
    },
    async delete(name, ifMatch) {
      for (let attempt = 0; attempt < attemptsMax; attempt++) if (await tryDelete(name, ifMatch)) return
      throw dnsErrors.precondition_failed('The DNS provider was changed, or used, while it was deleted. Try again.')
    },
    requireProvider: (tx, name) => tx.require(providers, name, { ifMatch: '*' }),
  }
}

export const noProvider = (name: string): Error =>
  dnsErrors.dns_provider_not_found(`There is no DNS provider ${JSON.stringify(name)}.`)

/** The document after a change. Throws `invalid_dns_provider`. */
function merge(
  kind: Kind,
  change: DnsProviderChange,
  current: ProviderDocument | undefined,
  clock: Clock,
): ProviderDocument {
  const settings = (change.settings ?? {}) as Fields
  const given = Object.fromEntries(Object.entries(change.credentials ?? {}).filter(([, secret]) => secret !== ''))
  const keepsCredentials = Object.keys(given).length === 0
  const stored = current?.type === kind.type ? current.credentials : {}
  // A field that is not a credential of the kind is an error even if it is empty.
  const unknown = Object.keys(change.credentials ?? {}).find(name => !kind.secrets.has(name))
  if (unknown !== undefined) {
    throw invalidProvider([{ element: `/credentials/${unknown}`, message: `is not a setting of ${kind.type}` }])
  }
  const credentials = keepsCredentials ? stored : given
  const complete = completeSettings(kind, settings, credentials)
  const plain = Object.fromEntries(Object.entries(complete).filter(([name]) => !kind.secrets.has(name)))
  const moved = kind.destinations.find(name => plain[name] !== current?.settings[name])
  if (moved !== undefined && keepsCredentials && Object.keys(stored).length > 0) {
    throw invalidProvider([
      { element: '/credentials', message: `must be given again, because ${moved} changes, which they are sent to` },
    ])
  }
  return {
    type: kind.type,
    comment: change.comment ?? '',
    settings: plain,
    credentials: { ...credentials },
    ttlSeconds: change.ttlSeconds ?? defaults.ttlSeconds,
    propagationTimeoutMs: change.propagationTimeoutMs ?? defaults.propagationTimeoutMs,
    pollingIntervalMs: change.pollingIntervalMs ?? defaults.pollingIntervalMs,
    createdMs: current?.createdMs ?? clock.now(),
  }
}
