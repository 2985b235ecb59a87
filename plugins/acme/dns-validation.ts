/** dns-01, for names that only the zone can prove: wildcards, and hosts that no authority reaches. */
import { challengeName, type DnsService } from 'svc/plugins/dns/api'
import type { Publication } from './challenges.ts'
import { OrderFailure } from './failure.ts'

export interface DnsValidation {
  /** Why no order can be made with it, as a sentence; undefined: one can. */
  readonly problem: string | undefined
  /** Resolves when the providers have the values; the result resolves when every server of the zones answers with them. */
  publish(publications: readonly Publication[]): Promise<(() => Promise<void>) | undefined>
  /** Removes the published values of a certificate. */
  withdraw(certificate: string): Promise<void>
  /** The certificates that have published values. */
  published(): Promise<readonly string[]>
}

/** How long values outlive a restart, after which the order goes on with them. */
const keepMs = 3_600_000
const ownerPrefix = 'acme/'

const missing =
  'The challenge dns-01 needs the plugin "dns", which is not loaded. Validate by http-01 or tls-alpn-01, or upload a certificate.'

/** `dns` is undefined where no loaded plugin publishes records. */
export function createDnsValidation(dns: DnsService | undefined): DnsValidation {
  if (dns === undefined) return noDns
  const ownerOf = (certificate: string) => `${ownerPrefix}${certificate}`

  async function publishOne({ certificate, dnsProvider, domain, keyAuthorization }: Publication): Promise<string> {
    if (dnsProvider === undefined)
      throw new OrderFailure('The challenge dns-01 needs a DNS provider, and none is named.')
    const name = challengeName(domain)
    const owner = ownerOf(certificate)
    const { id } = await dns!.present({ provider: dnsProvider, name, value: keyAuthorization, owner, keepMs })
    return id
  }

  return {
    problem: undefined,
    async publish(publications) {
      const ids = await allOf(publications.map(publishOne))
      return ids.length === 0 ? undefined : async () => void (await allOf(ids.map(id => dns.propagate(id))))
    },
    async withdraw(certificate) {
      const owner = ownerOf(certificate)
      const own = (await dns.publications()).filter(publication => publication.owner === owner)
      // A removal that fails is repeated by `dns` until the value is gone.
      await Promise.allSettled(own.map(({ id }) => dns.cleanUp(id)))
    },
    async published() {
      const owners = (await dns.publications()).map(({ owner }) => owner)
      return owners.filter(owner => owner.startsWith(ownerPrefix)).map(owner => owner.slice(ownerPrefix.length))
    },
  }
}

/** Waits for all: a value that is still being published when the order ends could not be withdrawn. */
async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work)
  return results.map(result => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

const noDns: DnsValidation = {
  problem: missing,
  async publish(publications) {
    if (publications.length > 0) throw new OrderFailure(missing)
    return undefined
  },
  async withdraw() {},
  published: async () => [],
}
