/** Certificates that are to be ordered, as their issuer sees them. */
import type { Clock } from 'svc/kernel'
import type { StoredDocument } from 'svc/plugins/store/api'
import type { CertificateOrders, OrderedCertificate } from './api.ts'
import { checkChain } from './chain.ts'
import type { CertificateDocument, CertificateDocuments } from './documents.ts'
import { certificatesErrors } from './errors.ts'
import { uncovered } from './names.ts'

export function createOrders({ certificates, touch }: CertificateDocuments, clock: Clock): CertificateOrders {
  return {
    async list() {
      const found: OrderedCertificate[] = []
      for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
        const page: Awaited<ReturnType<typeof certificates.list>> = await certificates.list({ startAfter })
        for (const document of page.documents) {
          const ordered = orderedOf(document)
          if (ordered !== undefined) found.push(ordered)
        }
        startAfter = page.next
      }
      return found
    },

    async get(id) {
      const document = await certificates.get(id)
      return document === undefined ? undefined : orderedOf(document)
    },

    async note(id, change) {
      await certificates.update(id, current => {
        const acme = current?.value.acme
        return current === undefined || acme === undefined ? undefined : { ...current.value, acme: change(acme) }
      })
    },

    async prepareIssued(id, { chain, privateKey, domains }, acme) {
      const known = await certificates.get(id)
      if (known?.value.source !== 'acme')
        throw certificatesErrors.conflict(`Nobody wants the certificate "${id}" any more.`)
      const checked = checkChain(chain, privateKey, clock.now())
      const missing = uncovered(checked.domains, domains)
      if (missing.length > 0) {
        throw certificatesErrors.invalid_certificate(
          `The certificate that was issued does not cover ${missing.join(', ')}.`,
        )
      }
      const value = { ...known.value, chain: checked.chain, privateKey: checked.privateKey, acme }
      return tx => {
        tx.put(certificates, id, value, { ifMatch: known.etag })
        touch(tx)
      }
    },

    watch: listener =>
      certificates.watch(({ before, after }) => {
        if ((before ?? after)?.value.source === 'acme') listener()
      }, listener),
  }
}

function orderedOf({ id, value }: StoredDocument<CertificateDocument>): OrderedCertificate | undefined {
  const { domains, acme, chain } = value
  return acme === undefined ? undefined : { id, domains, acme, chain }
}
