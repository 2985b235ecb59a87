/** Uploads, reads and deletes certificates. Every change is one transaction, and touches the document of the table in which threads look certificates up. */
import { type Clock, isCatalogError } from 'svc/kernel'
import type { StoredDocument, StoreService, TransactionBuilder } from 'svc/plugins/store/api'
import type { TlsService } from 'svc/plugins/tls/api'
import type { Certificate, CertificateIssuer, CertificatesService, CertificateUpload, CertificateUser } from './api.ts'
import { checkChain } from './chain.ts'
import type { CertificateDocument, CertificateDocuments } from './documents.ts'
import { certificatesErrors, noCertificate } from './errors.ts'
import { uncovered } from './names.ts'
import { createOrders } from './orders.ts'
import { viewOfDocument, viewOfFile } from './view.ts'
import { createWishes } from './wishes.ts'

/** Stored certificates; every thread has the parsed ones in memory. */
export const certificatesMax = 2000

export interface CertificatesOptions {
  readonly store: StoreService
  readonly documents: CertificateDocuments
  readonly tls: Pick<TlsService, 'certificates'>
  users(): readonly CertificateUser[]
  issuer(): CertificateIssuer | undefined
  readonly clock: Clock
}

export function createCertificates(options: CertificatesOptions): CertificatesService {
  const { store, documents, tls, users, issuer, clock } = options
  const { certificates, touch } = documents

  async function usersOf(id: string) {
    const found = await Promise.all(users().map(user => user.usersOf(id)))
    return found.flat()
  }

  async function view(document: StoredDocument<CertificateDocument>): Promise<Certificate> {
    const usedBy = (await usersOf(document.id)).map(({ name }) => name)
    return viewOfDocument(document, usedBy, clock.now())
  }

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

  async function get(id: string): Promise<Certificate> {
    const document = await certificates.get(id)
    if (document !== undefined) return view(document)
    const file = fileOf(id)
    if (file === undefined) throw noCertificate(id)
    return viewOfFile(file, clock.now())
  }

  function checked({ certificate, privateKey, comment }: CertificateUpload, createdMs: number): CertificateDocument {
    const chain = checkChain(certificate, privateKey, clock.now())
    return { source: 'upload', comment, createdMs, ...chain, domains: [...chain.domains] }
  }

  async function change(fill: (tx: TransactionBuilder) => void, onConflict: () => Error): Promise<void> {
    try {
      await store.transaction(tx => {
        fill(tx)
        touch(tx)
      })
    } catch (error) {
      if (isCatalogError(error) && error.code === 'precondition_failed') throw onConflict()
      throw error
    }
  }

  const changedMeanwhile = (id: string) => () =>
    certificatesErrors.conflict(`"${id}" was changed at the same time by another request. Read it, and try again.`)

  return {
    orders: createOrders(documents, clock),

    async list() {
      const nowMs = clock.now()
      const all = await Promise.all((await readAll()).map(view))
      const ids = new Set(all.map(({ id }) => id))
      const files = tls.certificates().filter(({ name }) => !ids.has(name))
      return [...all, ...files.map(file => viewOfFile(file, nowMs))].sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    get,

    async upload(id, upload) {
      const taken = () => certificatesErrors.already_exists(`There is a certificate "${id}" already; PUT replaces it.`)
      if (fileOf(id) !== undefined) throw taken()
      const document = checked(upload, clock.now())
      if ((await readAll()).length >= certificatesMax) {
        throw certificatesErrors.conflict(`There are ${certificatesMax} certificates already, and no more are kept.`)
      }
      await change(tx => tx.put(certificates, id, document, { ifNoneMatch: '*' }), taken)
      return get(id)
    },

    async replace(id, upload) {
      const { value, etag } = await stored(id)
      if (value.source !== 'upload') {
        throw certificatesErrors.conflict(
          `"${id}" is ordered from a certificate authority; only uploaded certificates can be replaced.`,
        )
      }
      const document = checked(upload, value.createdMs)
      for (const { name, domains } of await usersOf(id)) {
        const missing = uncovered(document.domains, domains)
        if (missing.length === 0) continue
        throw certificatesErrors.invalid_certificate(
          `The certificate does not cover ${missing.join(', ')}, which ${name} needs it for.`,
        )
      }
      await change(tx => tx.put(certificates, id, document, { ifMatch: etag }), changedMeanwhile(id))
      return get(id)
    },

    async delete(id) {
      const { etag } = await stored(id)
      const usedBy = await usersOf(id)
      if (usedBy.length > 0) {
        const names = usedBy.map(({ name }) => name).join(', ')
        throw certificatesErrors.certificate_in_use(`"${id}" is used by ${names}: give them another certificate first.`)
      }
      await change(tx => tx.delete(certificates, id, { ifMatch: etag }), changedMeanwhile(id))
    },

    async renew(id) {
      const { value } = await stored(id)
      if (value.source !== 'acme') {
        throw certificatesErrors.conflict(`"${id}" was uploaded and cannot be renewed here: upload its successor.`)
      }
      const ordering = issuer()
      if (ordering === undefined) {
        throw certificatesErrors.conflict('No loaded plugin orders certificates; the plugin acme does.')
      }
      await ordering.renew(id)
      return get(id)
    },

    async problem(id, names) {
      const document = await certificates.get(id)
      if (document === undefined) return `There is no certificate "${id}".`
      const missing = uncovered(document.value.domains, names)
      return missing.length === 0 ? undefined : `The certificate "${id}" does not cover ${missing.join(', ')}.`
    },

    ...createWishes(documents, clock),
  }
}
