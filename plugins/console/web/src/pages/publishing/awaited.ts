/** Whether a distribution still waits for the certificate that is ordered for it. */
import type { Answer } from '../../api/operations.ts'
import { isInForce } from './states.ts'

type Distribution = Answer<'listDistributions'>['items'][number]

/** As often as the list of certificates. */
export const certificatesMs = 5000

/** The domains whose visitors get a certificate that browsers take. */
export const domainsWithTls = ({ served }: Pick<Distribution, 'served'>): string[] =>
  served.flatMap(given => (given.covers && isInForce(given) ? [given.domain] : []))

/** Before the first one is there, `served` has none, or another one. */
export function awaitsCertificate(of: Pick<Distribution, 'aliases' | 'served' | 'tls'>): boolean {
  const withTls = domainsWithTls(of)
  return of.tls.certificate === 'auto' && of.aliases.some(alias => !withTls.includes(alias))
}
