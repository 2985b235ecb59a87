/**
 * Facts about a request from forwarding headers. They are trusted only if the hop that added them is in `SVC_TRUSTED_PROXIES`. The lists
 * are read from the right: our own peer added the last entry, and each entry is trusted as long as the hop that added it is trusted. So a
 * client that sends such headers gains nothing.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parse as parseForwardedHeader } from 'forwarded-parse'
import { forwardedAddress } from './address.ts'

export type ForwardedStyle = 'x-forwarded' | 'forwarded'

/** A header with more hops is not from a chain of proxies, and is not trusted. */
const hopsMax = 32

export interface ForwardedFacts {
  /** The client's address; undefined if the headers do not have it: then the peer is the client. */
  readonly address: string | undefined
  readonly secure: boolean | undefined
  readonly host: string | undefined
}

export const nothingForwarded: ForwardedFacts = Object.freeze({
  address: undefined,
  secure: undefined,
  host: undefined,
})

export interface Proxies {
  /** Whether any proxy is trusted. */
  readonly any: boolean
  isTrusted(address: string): boolean
  /** Reads the headers of a request whose peer is trusted. */
  read(headers: IncomingHttpHeaders): ForwardedFacts
}

export interface ProxyOptions {
  /** Addresses and CIDR blocks; validated by `checkProxyBlock`. */
  readonly trusted: readonly string[]
  readonly style: ForwardedStyle
  readonly trustHost: boolean
}

/** Undefined for a valid address or CIDR block. */
export function checkProxyBlock(text: string): string | undefined {
  const slash = text.indexOf('/')
  const family = isIP(slash < 0 ? text : text.slice(0, slash))
  if (family === 0) return `${JSON.stringify(text)} is neither an IP address nor a CIDR block`
  if (slash < 0) return undefined
  const prefix = text.slice(slash + 1)
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) {
    return `${JSON.stringify(text)} has no prefix length between 0 and ${family === 4 ? 32 : 128}`
  }
  return undefined
}

export function createProxies(options: ProxyOptions): Proxies {
  const blocks = new BlockList()
  for (const text of options.trusted) {
    const problem = checkProxyBlock(text)
    if (problem !== undefined) throw new TypeError(problem)
    const slash = text.indexOf('/')
    const address = slash < 0 ? text : text.slice(0, slash)
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (slash < 0) blocks.addAddress(address, family)
    else blocks.addSubnet(address, Number(text.slice(slash + 1)), family)
  }
  const any = options.trusted.length > 0

  function isTrusted(address: string): boolean {
    if (!any) return false
    const family = isIP(address)
    return family !== 0 && blocks.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }

  /** Index of the entry with the client's address: the first from the right that is not a trusted hop, or -1 if there is none. */
  function clientIndex(addresses: readonly (string | undefined)[]): number {
    let known = -1
    for (let index = addresses.length - 1; index >= 0; index--) {
      const address = addresses[index]
      // Unreadable or hidden: the address behind it stays unknown, and the hop that reported it is used instead.
      if (address === undefined) return known
      known = index
      if (!isTrusted(address)) return index
    }
    return known
  }

  function readXForwarded(headers: IncomingHttpHeaders): ForwardedFacts {
    const list = entries(headers['x-forwarded-for'])
    if (list === undefined) return nothingForwarded
    const addresses = list.map(forwardedAddress)
    const index = clientIndex(addresses)
    const hops = index < 0 ? 1 : addresses.length - index
    const proto = nthFromRight(entries(headers['x-forwarded-proto']), hops)
    const host = options.trustHost ? nthFromRight(entries(headers['x-forwarded-host']), hops) : undefined
    return { address: index < 0 ? undefined : addresses[index], secure: isSecure(proto), host: host?.toLowerCase() }
  }

  function readForwarded(headers: IncomingHttpHeaders): ForwardedFacts {
    const header = headers.forwarded
    if (header === undefined) return nothingForwarded
    let elements: Record<string, string>[]
    try {
      elements = parseForwardedHeader(header)
    } catch {
      // A malformed header is ignored: the peer itself counts as the client, which can only reduce rights.
      return nothingForwarded
    }
    if (elements.length > hopsMax) return nothingForwarded
    const addresses = elements.map(element => (element.for === undefined ? undefined : forwardedAddress(element.for)))
    const index = clientIndex(addresses)
    const element = elements[index < 0 ? elements.length - 1 : index]
    const host = options.trustHost ? element?.host?.toLowerCase() : undefined
    return { address: index < 0 ? undefined : addresses[index], secure: isSecure(element?.proto), host }
  }

  return { any, isTrusted, read: options.style === 'forwarded' ? readForwarded : readXForwarded }
}

/** The entries of a comma-separated header, in order; empty if absent, undefined if there are too many. */
function entries(header: string | string[] | undefined): string[] | undefined {
  if (header === undefined) return []
  const list = (Array.isArray(header) ? header.join(',') : header).split(',')
  return list.length > hopsMax ? undefined : list.map(entry => entry.trim())
}

/** Proxies append or overwrite: with fewer entries than hops, the first entry is from the edge. */
function nthFromRight(list: readonly string[] | undefined, hops: number): string | undefined {
  if (list === undefined || list.length === 0) return undefined
  const entry = list[Math.max(0, list.length - hops)]
  return entry === '' ? undefined : entry
}

function isSecure(proto: string | undefined): boolean | undefined {
  return proto === undefined ? undefined : proto.toLowerCase() === 'https'
}
