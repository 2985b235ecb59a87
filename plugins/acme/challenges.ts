/**
 * Answers to challenges (RFC 8555, 8), stored as documents so that every thread can answer the authority. They are stored before the
 * authority may validate it, and removed when it was validated, or with the other remains of an order after a crash.
 */

import type { Clock, MaybePromise } from 'svc/kernel'
import type { StoredDocument, StoreService } from 'svc/plugins/store/api'
import type { TlsChallenge } from 'svc/plugins/tls/api'
import { newKey } from './accounts.ts'
import type { AcmeLibrary } from './authority.ts'
import type { DnsValidation } from './dns-validation.ts'
import type { AcmeDocuments, ChallengeDocument } from './documents.ts'

const expiryMs = 3_600_000
const trialExpiryMs = 60_000
const alpnPending = 'tls-alpn-01'
const tokenPattern = /^[A-Za-z0-9_-]{1,256}$/

/** A challenge of the authority that is to be answered. */
export interface Publication {
  readonly certificate: string
  readonly type: ChallengeDocument['type']
  readonly domain: string
  readonly token: string
  /** The key authorization; for dns-01 the value of the record. */
  readonly keyAuthorization: string
  readonly dnsProvider?: string
}

export interface Challenges {
  /**
   * Resolves when every thread answers; of dns-01 when the providers have confirmed the values. The result then waits until the servers of
   * the zones answer with them, and is undefined where nothing has to be waited for.
   */
  publish(publications: readonly Publication[], library: AcmeLibrary): Promise<(() => Promise<void>) | undefined>
  /** An answer to http-01 that no authority has asked for. It expires, or goes with the others. */
  publishTrial(
    certificate: string,
    domain: string,
    trial: Pick<Publication, 'token' | 'keyAuthorization'>,
  ): Promise<void>
  /** Removes everything that was published for a certificate. */
  withdraw(certificate: string): Promise<void>
  /** The certificates that something is published for. */
  published(): Promise<ReadonlySet<string>>
  /** The key authorization for a token that is pending for this host. */
  findHttp(token: string, host: string): MaybePromise<string | undefined>
  readonly alpn: TlsChallenge
}

export interface ChallengesOptions {
  readonly store: StoreService
  readonly documents: AcmeDocuments
  readonly clock: Clock
  readonly dns: DnsValidation
}

export function createChallenges({ store, documents, clock, dns }: ChallengesOptions): Challenges {
  const { challenges, pending } = documents
  const isLive = (
    document: StoredDocument<ChallengeDocument> | undefined,
  ): document is StoredDocument<ChallengeDocument> => document !== undefined && document.value.expiresMs > clock.now()

  async function documentOf({ certificate, type, domain, keyAuthorization }: Publication, library: AcmeLibrary) {
    const value: ChallengeDocument = { certificate, type, domain, keyAuthorization, expiresMs: clock.now() + expiryMs }
    if (type !== 'tls-alpn-01') return value
    const authorization = { identifier: { type: 'dns', value: domain } } as never
    const [key, chain] = await library.crypto.createAlpnCertificate(authorization, keyAuthorization, newKey())
    return { ...value, key: key.toString(), chain: chain.toString() }
  }

  async function stored(): Promise<StoredDocument<ChallengeDocument>[]> {
    const found: StoredDocument<ChallengeDocument>[] = []
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof challenges.list>> = await challenges.list({ startAfter })
      found.push(...page.documents)
      startAfter = page.next
    }
    return found
  }

  const readHttp = (document: StoredDocument<ChallengeDocument> | undefined, host: string) =>
    isLive(document) && document.value.domain === host ? document.value.keyAuthorization : undefined

  return {
    async publish(publications, library) {
      const served = publications.filter(({ type }) => type !== 'dns-01')
      const made = await Promise.all(served.map(async each => [idOf(each), await documentOf(each, library)] as const))
      const usesAlpn = served.some(({ type }) => type === 'tls-alpn-01')
      if (made.length > 0) {
        await store.transaction(tx => {
          for (const [id, value] of made) tx.put(challenges, id, value)
          if (usesAlpn) tx.put(pending, alpnPending, { untilMs: clock.now() + expiryMs })
        })
      }
      return dns.publish(publications.filter(({ type }) => type === 'dns-01'))
    },

    async publishTrial(certificate, domain, { token, keyAuthorization }) {
      const expiresMs = clock.now() + trialExpiryMs
      await challenges.put(idOf({ type: 'http-01', token, domain }), {
        certificate,
        type: 'http-01',
        domain,
        keyAuthorization,
        expiresMs,
      })
    },

    async withdraw(certificate) {
      const all = await stored()
      const found = all.filter(each => each.value.certificate === certificate || !isLive(each))
      if (found.length > 0) {
        await store.transaction(tx => {
          for (const { id } of found.slice(0, 1000)) tx.delete(challenges, id)
        })
      }
      await dns.withdraw(certificate)
    },

    async published() {
      const values = (await stored()).map(({ value }) => value.certificate)
      return new Set([...values, ...(await dns.published())])
    },

    findHttp(token, host) {
      if (!tokenPattern.test(token)) return undefined
      const found = challenges.get(`http-01/${token}`)
      return found instanceof Promise ? found.then(document => readHttp(document, host)) : readHttp(found, host)
    },

    alpn: {
      isPending() {
        const found = pending.get(alpnPending)
        if (!(found instanceof Promise)) return found !== undefined && found.value.untilMs > clock.now()
        found.catch(() => {})
        // Not known without waiting: reading the first message of a connection in vain costs little.
        return true
      },
      async find(name) {
        const document = await challenges.get(`tls-alpn-01/${name}`)
        if (!isLive(document)) return undefined
        const { chain, key } = document.value
        return chain === undefined || key === undefined ? undefined : { certificate: chain, key }
      },
    },
  }
}

function idOf({ type, token, domain }: Pick<Publication, 'type' | 'token' | 'domain'>): string {
  return type === 'http-01' ? `http-01/${token}` : `${type}/${domain}`
}
