/** Requests of other plugins for ordered certificates: the parts of their own transactions. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from 'svc/kernel'
import { type Preconditions, type Uses, usedBy } from 'svc/plugins/store/api'
import type { CertificatesService, CertificateWish } from './api.ts'
import type { AcmeState, CertificateDocument, CertificateDocuments } from './documents.ts'
import { certificatesErrors } from './errors.ts'
import { nameProblem, uncovered } from './names.ts'

const domainsMax = 100

/** What becomes of a certificate that is presented now. */
export interface Change {
  /** It takes its place; undefined: none does. */
  readonly successor?: CertificateDocument
  /** The domains of the one that is ordered in its place: they keep it until then. */
  readonly ordered?: readonly string[]
  /** Domains that nobody visits any more when it is made. */
  readonly gone?: readonly string[]
}

/**
 * Rejects with `certificate_served` where domains would be without a certificate. Resolves with the precondition for the table with which
 * that is still so when the change is committed.
 */
export type RequireKept = (id: string, change?: Change) => Promise<Preconditions>

export function createWishes(
  { certificates, touch }: CertificateDocuments,
  clock: Clock,
  readUses: () => Promise<Uses>,
  requireKept: RequireKept,
): Pick<CertificatesService, 'prepareWish' | 'prepareEnd'> {
  return {
    async prepareWish(id, wish, { gone, force = false } = {}) {
      requireOrderable(wish)
      const known = await certificates.get(id)
      if (known !== undefined && known.value.source !== 'acme') {
        throw certificatesErrors.already_exists(`There is an uploaded certificate "${id}" already.`)
      }
      const document = wished(known?.value, wish, clock.now())
      const precondition = known === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: known.etag }
      const isNarrowed = uncovered(document.domains, known?.value.domains ?? []).length > 0
      const seen = isNarrowed && !force ? await requireKept(id, { ordered: document.domains, gone }) : undefined
      return tx => {
        if (known !== undefined && isDeepStrictEqual(known.value, document)) return
        tx.put(certificates, id, document, precondition)
        touch(tx, seen)
      }
    },
    async prepareEnd(id, { gone, force = false } = {}) {
      const known = await certificates.get(id)
      if (known?.value.source !== 'acme') return () => {}
      const others = usedBy(await readUses(), id).filter(name => name !== id)
      if (others.length > 0) {
        throw certificatesErrors.certificate_in_use(
          `The certificate that was ordered for ${id} is used by ${others.join(', ')} too: give them another one first.`,
        )
      }
      const seen = force ? undefined : await requireKept(id, { gone })
      return tx => {
        tx.delete(certificates, id)
        touch(tx, seen)
      }
    },
  }
}

function requireOrderable({ domains, challenge }: CertificateWish): void {
  if (domains.length === 0 || domains.length > domainsMax)
    refuse(`A certificate is ordered for 1 to ${domainsMax} names.`)
  for (const name of domains) {
    const problem = nameProblem(name)
    if (problem !== undefined) refuse(`${JSON.stringify(name)} ${problem}.`)
    if (name.startsWith('*.') && challenge !== 'dns-01') {
      refuse(`${name} is a wildcard: authorities validate those by dns-01 alone, which needs a DNS provider.`)
    }
  }
}

/** The present chain is always kept; a changed request is tried at once, and resets the state of the former order. */
function wished(known: CertificateDocument | undefined, wish: CertificateWish, nowMs: number): CertificateDocument {
  const domains = [...new Set(wish.domains)]
  const { challenge, dnsProvider } = wish
  const asked = { ...(challenge && { challenge }), ...(dnsProvider && { dnsProvider }) }
  const before = known?.acme
  const isSame =
    known !== undefined &&
    isDeepStrictEqual(known.domains, domains) &&
    before?.challenge === challenge &&
    before?.dnsProvider === dnsProvider
  if (isSame) return known
  const fresh: AcmeState = {
    ...asked,
    directory: before?.directory ?? '',
    issuedDomains: before?.issuedDomains ?? [],
    step: '',
    attempts: 0,
    lastError: '',
    failedDomains: [],
    ...(before?.renewMs === undefined ? undefined : { renewMs: before.renewMs }),
    ...(before?.window === undefined ? undefined : { window: before.window }),
  }
  return { source: 'acme', comment: '', createdMs: nowMs, ...known, domains, acme: fresh }
}

function refuse(problem: string): never {
  throw certificatesErrors.invalid_certificate(problem)
}
