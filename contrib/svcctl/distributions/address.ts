/** The address of a distribution, with the scheme that works there. */
import { AdminError } from '../errors.ts'
import type { DistributionDocument, DistributionPlace } from './document.ts'

const usable: ReadonlySet<string> = new Set(['valid', 'expiring'])

/** `note`: why the address does not work yet. */
export async function addressOf(
  place: DistributionPlace,
  { redirects = [], tls }: DistributionDocument,
  host: string,
): Promise<{ readonly address: string; readonly note?: string }> {
  const hasCertificate = await presentsCertificate(place, host)
  const isHttpsOnly = redirects.some(({ httpsOnly }) => httpsOnly === true)
  const address = `${hasCertificate || isHttpsOnly ? 'https' : 'http'}://${host}/`
  const isOrdered = tls?.certificate !== undefined && tls.certificate !== 'none'
  // Where none is meant to be, the server warns.
  if (hasCertificate || !isHttpsOnly || !isOrdered) return { address }
  const note = `There is no certificate for ${host} yet, so browsers cannot open the address: \`svcctl dist cert get ${place.alias} ${place.id}\` says what it waits for.`
  return { address, note }
}

/** Whether a TLS connection for this host gets a certificate that counts. */
async function presentsCertificate({ client }: DistributionPlace, host: string): Promise<boolean> {
  const query = [
    ['host', host.replace(/^\*\./, 'any.')],
    ['listener', 'web-tls'],
  ] as const
  try {
    const { body } = await client.send({ operation: 'resolveRoute', method: 'GET', path: '/routing/resolve', query })
    const { certificate } = body as { readonly certificate?: { readonly state: string } }
    return certificate !== undefined && usable.has(certificate.state)
  } catch (error) {
    if (error instanceof AdminError) return false
    throw error
  }
}
