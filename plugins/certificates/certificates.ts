/** Uploads, reads and deletes certificates. Every change is one transaction, and touches the document of the table in which threads look certificates up. */
import { type Clock, isCatalogError, type MaybePromise } from 'svc/kernel'
import {
  gatherUses,
  type Preconditions,
  type StoredDocument,
  type StoreService,
  storeErrors,
  type TransactionBuilder,
  type Uses,
  usedBy,
} from 'svc/plugins/store/api'
import type { CertificateInfo, TlsService } from 'svc/plugins/tls/api'
import type {
  Certificate,
  CertificateIssuer,
  CertificatesService,
  CertificateUpload,
  CertificateUse,
  CertificateUser,
  SavedCertificate,
} from './api.ts'
import { chainWarnings, checkChain } from './chain.ts'
import { type CertificateDocument, type CertificateDocuments, tableId } from './documents.ts'
import { certificatesErrors, noCertificate } from './errors.ts'
import { covers, uncovered } from './names.ts'
import { createOrders } from './orders.ts'
import type { CertificateTable } from './table.ts'
import { viewOfDocument, viewOfFile } from './view.ts'
import { type Change, createWishes, type RequireKept } from './wishes.ts'

/** Stored certificates; every thread has the parsed ones in memory. */
export const certificatesMax = 2000
const orderedHint =
  'it is ordered from a certificate authority, and renewed, not replaced. Choose another id, and name that in tls.certificate of the distribution.'
/** A name that a wildcard stands for; any other name stands for itself. */
const hostOf = (domain: string): string => domain.replace(/^\*\./, 'any.')
/** Attempts of a change while users of the certificate change at the same time. */
const attemptsMax = 10

export interface CertificatesOptions {
  readonly store: StoreService
  readonly documents: CertificateDocuments
  readonly tls: Pick<TlsService, 'certificates' | 'enabled' | 'refusal'>
  readonly table: Pick<CertificateTable, 'find' | 'withReplaced'>
  users(): readonly CertificateUser[]
  issuer(): CertificateIssuer | undefined
  readonly clock: Clock
}

export function createCertificates(options: CertificatesOptions): CertificatesService {
  const { store, documents, tls, table, users, issuer, clock } = options
  const { certificates, tables, touch } = documents

  const readUses = (): Promise<Uses<CertificateUse>> => gatherUses(users())

  const view = (
    document: StoredDocument<CertificateDocument>,
    uses: Uses,
    servedFor: readonly string[] = [],
  ): Certificate => viewOfDocument(document, { usedBy: usedBy(uses, document.id), servedFor }, clock.now())

  const fileOf = (id: string) => tls.certificates().find(({ name }) => name === id)

  async function readAll(): Promise<StoredDocument<CertificateDocument>[]> {
    const all: StoredDocument<CertificateDocument>[] = []
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof certificates.list>> = await certificates.list({ startAfter })
      all.push(...page.documents)
      startAfter = page.next
    }
    return all
  }

  /** Rejects with the reason if there is no uploaded certificate that can be changed. */
  async function stored(id: string): Promise<StoredDocument<CertificateDocument>> {
    const document = await certificates.get(id)
    if (document !== undefined) return document
    if (fileOf(id) !== undefined) {
      throw certificatesErrors.conflict(`"${id}" is a file in SVC_CERTS_DIR: replace or remove it there.`)
    }
    throw noCertificate(id)
  }

  async function read(id: string, servedFor: readonly string[] = []): Promise<Certificate> {
    const document = await certificates.get(id)
    if (document !== undefined) return view(document, await readUses(), servedFor)
    const file = fileOf(id)
    if (file === undefined) throw noCertificate(id)
    return viewOfFile(file, { servedFor, refusal: tls.refusal() }, clock.now())
  }

  const get = async (id: string): Promise<Certificate> => read(id, (await readServed()).get(id))

  /** As `tls` chooses: an expired one only where the listener has none of its own. Undefined where there is none at all. */
  async function presentedId(serverName: string): Promise<string | undefined> {
    const found = await table.find(serverName)
    const [own] = tls.certificates()
    return found !== undefined && (!found.isExpired || own === undefined) ? found.id : own?.name
  }

  /** By certificate the names of its users for which it is presented, and that it is for. */
  async function readServed(): Promise<ReadonlyMap<string, readonly string[]>> {
    const served = new Map<string, string[]>()
    for (const user of users()) {
      for (const { domain } of await user.names()) {
        const id = await presentedId(hostOf(domain))
        if (id !== undefined) served.set(id, [...(served.get(id) ?? []), domain])
      }
    }
    return served
  }

  /**
   * The domains that get the certificate now, and would get none that is for them and in force with the successor, if any, in its place.
   * Those that get it though it has expired have nothing to lose.
   */
  async function lostBy(id: string, { successor, ordered = [], gone = [] }: Change): Promise<readonly string[]> {
    const served = (await readServed()).get(id) ?? []
    const find = await table.withReplaced(id, successor)
    const lost: string[] = []
    for (const domain of served) {
      const host = hostOf(domain)
      if (gone.includes(domain) || ordered.some(pattern => covers(pattern, host))) continue
      if ((await table.find(host))?.isExpired === true) continue
      const found = await find(host)
      const isServed = found !== undefined && !found.isExpired
      if (!isServed && !tls.certificates().some(own => isFor(own, host))) lost.push(domain)
    }
    return lost
  }

  const requireKept: RequireKept = async (id, change = {}) => {
    const seen = await tables.get(tableId)
    const lost = await lostBy(id, change)
    if (lost.length === 0) return seen === undefined ? { ifNoneMatch: '*' } : { ifMatch: seen.etag }
    throw certificatesErrors.certificate_served(
      `Visitors of ${lost.join(', ')} get "${id}" now, and would get no certificate that browsers accept.`,
    )
  }

  const isFor = ({ domains, notAfter }: CertificateInfo, host: string): boolean =>
    clock.now() < Date.parse(notAfter) && domains.some(pattern => covers(pattern.toLowerCase(), host))

  function checked({ certificate, privateKey, comment }: CertificateUpload, createdMs: number): CertificateDocument {
    const chain = checkChain(certificate, privateKey, clock.now())
    return { source: 'upload', comment, createdMs, ...chain, domains: [...chain.domains] }
  }

  /** Whether it was committed: not where the certificate, what uses it, or (by `seen`) another certificate has changed since it was looked at. */
  async function commit(fill: (tx: TransactionBuilder) => void, seen?: Preconditions): Promise<boolean> {
    try {
      await store.transaction(tx => {
        fill(tx)
        touch(tx, seen)
      })
      return true
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') return false
      throw error
    }
  }

  /** A change of a stored certificate that is right for its users. `decide` is called again where one of them was faster. */
  async function changeUsed(
    id: string,
    decide: (
      document: StoredDocument<CertificateDocument>,
      users: readonly CertificateUse[],
    ) => MaybePromise<(tx: TransactionBuilder) => void>,
  ): Promise<void> {
    const { etag } = await stored(id)
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const document = await stored(id)
      if (document.etag !== etag) break
      // What takes the place of this one for its domains must still be there when it is gone.
      const table = await tables.get(tableId)
      const uses = await readUses()
      const fill = await decide(document, uses.byId.get(id) ?? [])
      const isCommitted = await commit(
        tx => {
          fill(tx)
          uses.fence(tx)
        },
        table === undefined ? { ifNoneMatch: '*' } : { ifMatch: table.etag },
      )
      if (isCommitted) return
    }
    throw certificatesErrors.conflict(
      `"${id}", or what uses it, was changed at the same time by another request. Read it, and try again.`,
    )
  }

  const saved = async (id: string, { certificate }: CertificateUpload): Promise<SavedCertificate> => ({
    ...(await get(id)),
    warnings: chainWarnings(certificate),
  })

  return {
    orders: createOrders(documents, clock),

    async list() {
      const nowMs = clock.now()
      const uses = await readUses()
      const served = await readServed()
      const all = (await readAll()).map(document => view(document, uses, served.get(document.id)))
      const ids = new Set(all.map(({ id }) => id))
      const files = tls.certificates().filter(({ name }) => !ids.has(name))
      const refusal = tls.refusal()
      const shown = files.map(file => viewOfFile(file, { servedFor: served.get(file.name) ?? [], refusal }, nowMs))
      return [...all, ...shown].sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    get,

    async upload(id, upload) {
      const taken = (document?: CertificateDocument) =>
        certificatesErrors.already_exists(
          `There is a certificate "${id}" already; ${document?.source === 'acme' ? orderedHint : 'replace that one, or take another name.'}`,
        )
      if (fileOf(id) !== undefined) throw taken()
      const document = checked(upload, clock.now())
      if ((await readAll()).length >= certificatesMax) {
        throw certificatesErrors.conflict(`There are ${certificatesMax} certificates already, and no more are kept.`)
      }
      if (!(await commit(tx => tx.put(certificates, id, document, { ifNoneMatch: '*' }))))
        throw taken((await certificates.get(id))?.value)
      return saved(id, upload)
    },

    async replace(id, upload, { ifMatch, force = false } = {}) {
      await changeUsed(id, async ({ value, etag }, found) => {
        if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw storeErrors.precondition_failed()
        if (value.source !== 'upload') {
          throw certificatesErrors.conflict(
            `"${id}" is ordered from a certificate authority: it is renewed, not replaced. Upload under another id, and name that in tls.certificate of the distribution.`,
          )
        }
        const document = checked(upload, value.createdMs)
        for (const { name, domains } of found) {
          const missing = uncovered(document.domains, domains)
          if (missing.length === 0) continue
          throw certificatesErrors.invalid_certificate(
            `The certificate does not cover ${missing.join(', ')}, which ${name} needs it for.`,
          )
        }
        if (!force) await requireKept(id, { successor: document })
        return tx => tx.put(certificates, id, document, { ifMatch: etag })
      })
      return saved(id, upload)
    },

    delete: (id, { force = false } = {}) =>
      changeUsed(id, async ({ value, etag }, found) => {
        if (found.length > 0) {
          const names = found.map(({ name }) => name).join(', ')
          const advice =
            value.source === 'acme'
              ? `it is ordered for the distribution "${id}", and goes when tls.certificate there names another, or is "none".`
              : 'give them another certificate first.'
          throw certificatesErrors.certificate_in_use(`"${id}" is used by ${names}: ${advice}`)
        }
        if (!force) await requireKept(id)
        return tx => tx.delete(certificates, id, { ifMatch: etag })
      }),

    async renew(id, options) {
      const { value } = await stored(id)
      if (value.source !== 'acme') {
        throw certificatesErrors.conflict(`"${id}" was uploaded and cannot be renewed here: upload its successor.`)
      }
      const ordering = issuer()
      if (ordering === undefined) {
        throw certificatesErrors.conflict('No loaded plugin orders certificates; the plugin acme does.')
      }
      await ordering.renew(id, options)
      return get(id)
    },

    async presented(serverName, listener) {
      if (listener === 'web' || (listener !== 'web-tls' && !tls.enabled)) return undefined
      const id = await presentedId(serverName)
      return id === undefined ? undefined : read(id)
    },

    async prepareUse(id, names) {
      const document = await certificates.get(id)
      if (document === undefined) {
        if (fileOf(id) === undefined) throw noCertificate(id)
        throw certificatesErrors.invalid_certificate(
          `"${id}" is a file in SVC_CERTS_DIR, which is presented where no other is; upload it to use it by its id.`,
        )
      }
      const { value, etag } = document
      const missing = uncovered(value.domains, names)
      if (missing.length > 0) {
        throw certificatesErrors.invalid_certificate(`The certificate "${id}" does not cover ${missing.join(', ')}.`)
      }
      return tx => tx.require(certificates, id, { ifMatch: etag })
    },

    ...createWishes(documents, clock, readUses, requireKept),
  }
}
