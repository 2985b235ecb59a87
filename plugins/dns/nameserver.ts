/** Addresses of DNS servers as people write them: `192.0.2.1`, `ns.example.com:5353`, `[2001:db8::1]:53`. */
import { isIP } from 'node:net'
import { nameProblem } from './name.ts'

export interface NameserverAddress {
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
}

export const dnsPort = 53

/** Why a text is not a server: a phrase that follows the name of the setting. Undefined: it is one. */
export function nameserverProblem(text: string): string | undefined {
  const parsed = split(text)
  if (parsed === undefined) return 'must be host or host:port; an IPv6 address with a port stands in brackets'
  const { host, port } = parsed
  if (!Number.isInteger(port) || port < 1 || port > 65535) return 'must have a port between 1 and 65535'
  if (isIP(host) !== 0) return undefined
  // A malformed address is not accepted as a name.
  return /^[\d.]+$/.test(host) || nameProblem(host) !== undefined
    ? 'must have an address or a name as its host'
    : undefined
}

/** The parts of a text without a problem. */
export function parseNameserver(text: string): NameserverAddress {
  const problem = nameserverProblem(text)
  if (problem !== undefined) throw new TypeError(`${JSON.stringify(text)} ${problem}`)
  return split(text)!
}

/** The form that `Resolver.setServers` takes. `host` is an address. */
export function formatServer({ host, port }: NameserverAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

function split(text: string): NameserverAddress | undefined {
  if (isIP(text) === 6) return { host: text, port: dnsPort }
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text)
  if (match === null) return undefined
  const [, bracketed, plain, port] = match
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined
  return { host: (bracketed ?? plain)!, port: port === undefined ? dnsPort : Number(port) }
}
