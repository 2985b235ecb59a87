/** dns-01, for names that only the zone can prove: wildcards, and hosts that no authority reaches. */

import type { Publication } from './challenges.ts'
import { OrderFailure } from './failure.ts'

export interface DnsValidation {
  /** Why no order can be made with it, as a sentence; undefined: one can. */
  readonly problem: string | undefined
  publish(publications: readonly Publication[]): Promise<void>
  withdraw(certificate: string): Promise<void>
}

const missing =
  'The challenge dns-01 is not built yet: the plugin "dns" will publish its records. Validate by http-01 or tls-alpn-01, or upload a certificate.'

/** Where no plugin publishes records. */
export const noDns: DnsValidation = {
  problem: missing,
  async publish(publications) {
    if (publications.length > 0) throw new OrderFailure(missing)
  },
  async withdraw() {},
}
