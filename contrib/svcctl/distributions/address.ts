/** The address of a distribution, with the scheme that works there. */
import type { AdminClient } from '../admin/client.ts'
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

interface Listener {
  readonly name: string
  readonly port: number
  readonly secure: boolean
}

/** Notes where the name of an address must lead. The server tells its ports only to callers with admin:ServerInfo. */
export async function listenerNote(client: AdminClient, address: string): Promise<string> {
  const isHttps = address.startsWith('https:')
  const [name, usualPort] = isHttps ? ['web-tls', 443] : ['web', 80]
  const resolves = 'The name must resolve to the server, or to a proxy in front of it.'
  const withPort = (port: number | string) => `${address.slice(0, -1)}:${port}/`
  try {
    const { body } = await client.send({ operation: 'getServerInfo', method: 'GET', path: '/info' })
    const { nodes } = body as { readonly nodes: readonly { readonly listeners: readonly Listener[] }[] }
    const listeners = nodes.flatMap(node => node.listeners)
    // Without a web listener that of S3 may answer hosts, too.
    const web = listeners.find(listener => listener.name === name)
    const port = (web ?? listeners.find(listener => listener.name === 's3' && listener.secure === isHttps))?.port
    if (port === usualPort || port === undefined) return resolves
    return `${resolves} It listens on port ${port}: without a proxy the address is ${withPort(port)}`
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return `${resolves} Where the server listens on another port than ${usualPort}, the port belongs into the address: ${withPort('PORT')}`
  }
}
