/** The certificates of distributions: a stored one by its id, or one that is ordered for all aliases (`auto`). */
import { adminErrors, checkField } from 'svc/plugins/admin/api'
import {
  type CertificateState,
  type CertificatesService,
  nameProblem,
  uncovered,
  type WishOptions,
} from 'svc/plugins/certificates/api'
import type { DnsProvidersService } from 'svc/plugins/dns/api'
import type { ListenerName } from 'svc/plugins/http/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { DistributionProblem } from './api.ts'
import type { Distribution, StoredDistribution } from './document.ts'

/** The certificate part of the transaction that saves a distribution. */
export type AlsoChange = (tx: TransactionBuilder) => void

export interface DistributionCertificates {
  /** The problems of a distribution's certificate settings. */
  problems(distribution: Distribution): DistributionProblem[]
  /** Rejects with `not_implemented`, and with the errors of certificates. */
  prepare(
    distribution: Distribution,
    before: StoredDistribution | undefined,
    options?: WishOptions,
  ): Promise<AlsoChange>
  /** Does the same for a distribution that is deleted. */
  prepareRemoval(id: string, before: StoredDistribution, options?: WishOptions): Promise<AlsoChange>
  /** The certificate that a TLS connection for the host gets; undefined if there is none. */
  presented(host: string, listener: ListenerName): Promise<PresentedCertificate | undefined>
  /** The certificate that a TLS connection for each alias gets; aliases without one are left out. */
  served(aliases: readonly string[]): Promise<ServedCertificate[]>
  /** The aliases for which no certificate is presented that browsers accept. */
  uncovered(aliases: readonly string[]): Promise<readonly string[]>
}

export interface PresentedCertificate {
  readonly id: string
  readonly state: string
  /** ISO 8601. */
  readonly notAfter: string
}

export interface ServedCertificate {
  domain: string
  /** The id. */
  certificate: string
  state: CertificateState
  /** ISO 8601. */
  notAfter: string
  /** Whether it is for this domain: else browsers refuse it. */
  covers: boolean
}

const nothing: AlsoChange = () => {}

/** The id of a distribution's certificate; an ordered one has the id of the distribution. */
export function certificateOf({ id, tls }: Pick<Distribution, 'id' | 'tls'>): string | undefined {
  if (tls.certificate === 'none') return undefined
  return tls.certificate === 'auto' ? id : tls.certificate
}

/** Whether browsers take it. While its successor is ordered, or could not be, a certificate stays what it is. */
export const isUsable = ({
  state,
  notAfter,
  covers,
}: Pick<ServedCertificate, 'state' | 'notAfter' | 'covers'>): boolean =>
  covers && notAfter !== '' && state !== 'expired'

/** Each is undefined where no loaded plugin keeps any. */
export function createDistributionCertificates(
  certificates: CertificatesService | undefined,
  dnsProviders: DnsProvidersService | undefined,
): DistributionCertificates {
  async function prepareRemoval(
    id: string,
    before: StoredDistribution | undefined,
    options?: WishOptions,
  ): Promise<AlsoChange> {
    if (certificates === undefined || before?.tls.certificate !== 'auto') return nothing
    return certificates.prepareEnd(id, options)
  }

  /** The provider is there when the change is committed. Rejects with `dns_provider_not_found`. */
  async function providerRequirement(name: string): Promise<AlsoChange> {
    if (dnsProviders === undefined) {
      throw adminErrors.not_implemented(
        'No loaded plugin keeps DNS providers: tls.challenge can be http-01 or tls-alpn-01.',
      )
    }
    await checkField('/tls/dnsProvider', () => dnsProviders.get(name))
    return tx => dnsProviders.requireProvider(tx, name)
  }

  async function served(aliases: readonly string[]): Promise<ServedCertificate[]> {
    const all: ServedCertificate[] = []
    for (const alias of aliases) {
      const found = await certificates?.presented(alias.replace(/^\*\./, 'any.'), 'web-tls')
      if (found === undefined) continue
      const { id, state, notAfter, domains } = found
      all.push({ domain: alias, certificate: id, state, notAfter, covers: uncovered(domains, [alias]).length === 0 })
    }
    return all
  }

  return {
    problems({ aliases, tls: { certificate, challenge, dnsProvider } }) {
      if (certificate !== 'auto') return []
      const problems: DistributionProblem[] = []
      if (challenge === 'dns-01' && dnsProvider === undefined) {
        problems.push({ element: '/tls/dnsProvider', message: 'is missing: it publishes the records of dns-01' })
      }
      for (const [index, alias] of aliases.entries()) {
        const problem = nameProblem(alias)
        if (problem !== undefined)
          problems.push({ element: `/aliases/${index}`, message: `${problem}, so no authority takes it` })
        else if (alias.startsWith('*.') && challenge !== 'dns-01') {
          problems.push({
            element: '/tls/challenge',
            message: `must be dns-01: authorities validate ${alias} only in this way`,
          })
        }
      }
      return problems
    },

    async prepare(distribution, before, options) {
      const { id, aliases, tls } = distribution
      const { certificate, challenge, dnsProvider } = tls
      if (certificate === 'none') return prepareRemoval(id, before, options)
      if (certificates === undefined) {
        throw adminErrors.not_implemented('No loaded plugin keeps certificates: tls.certificate can only be none.')
      }
      if (certificate !== 'auto') {
        const use = await checkField('/tls/certificate', () => certificates.prepareUse(certificate, aliases))
        const end = await prepareRemoval(id, before, options)
        return tx => {
          end(tx)
          use(tx)
        }
      }
      const wanted = {
        domains: aliases,
        ...(challenge === undefined ? undefined : { challenge }),
        ...(dnsProvider === undefined ? undefined : { dnsProvider }),
      }
      const wish = await certificates.prepareWish(id, wanted, options)
      // Last, so that everything else is known to be right where only the provider is missing.
      const requireProvider = challenge === 'dns-01' ? await providerRequirement(dnsProvider!) : nothing
      return tx => {
        requireProvider(tx)
        wish(tx)
      }
    },

    prepareRemoval,

    async presented(host, listener) {
      const found = await certificates?.presented(host, listener)
      return found && { id: found.id, state: found.state, notAfter: found.notAfter }
    },

    served,

    async uncovered(aliases) {
      const usable = (await served(aliases)).filter(isUsable)
      return aliases.filter(alias => !usable.some(({ domain }) => domain === alias))
    },
  }
}
