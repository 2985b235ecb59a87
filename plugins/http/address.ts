/** Addresses: parses the address of a listener, and normalizes addresses of clients (for logs, policies, audit). */
import { isIP, isIPv6 } from 'node:net'

export interface ListenAddress {
  /** Undefined: all addresses of the machine, IPv6 and IPv4. Without brackets. */
  readonly host: string | undefined
  /** 0 lets the system choose a port. */
  readonly port: number
}

/** Parses `host:port`, `:port` or `[v6]:port`; a string describes the problem. */
export function parseListenAddress(text: string): ListenAddress | string {
  if (text.includes(','))
    return `${JSON.stringify(text)} is a list: a listener has one address; without a host, ":9000", it has all of the machine`
  const colon = text.lastIndexOf(':')
  if (colon < 0) return `${JSON.stringify(text)} has no port: write host:port, :port or [v6]:port`
  const portText = text.slice(colon + 1)
  if (!/^\d{1,5}$/.test(portText) || Number(portText) > 65535) {
    return `${JSON.stringify(portText)} is not a port between 0 and 65535`
  }
  const port = Number(portText)
  let host = text.slice(0, colon)
  if (host === '') return { host: undefined, port }
  if (host.startsWith('[') && host.endsWith(']')) {
    host = host.slice(1, -1)
    if (!isIPv6(host)) return `[${host}] is not an IPv6 address`
    return { host, port }
  }
  if (host.includes(':')) return `IPv6 addresses need brackets: [${host}]:${portText}`
  if (!/^[a-z0-9._-]{1,253}$/i.test(host)) return `${JSON.stringify(host)} is neither an address nor a host name`
  return { host, port }
}

/** For configuration schemas: undefined for a valid address. */
export function checkListenAddress(text: string): string | undefined {
  const parsed = parseListenAddress(text)
  return typeof parsed === 'string' ? parsed : undefined
}

/** `host:port` in the usual notation; an unspecified host gives `:port`. */
export function formatAddress(host: string | undefined, port: number): string {
  if (host === undefined) return `:${port}`
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** One spelling per address: IPv4-mapped IPv6 as IPv4, no brackets, no zone, lower case. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return ''
  if (address.charCodeAt(0) === 58 /* : */ && address.startsWith('::ffff:') && address.includes('.')) {
    return address.slice(7)
  }
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}

/**
 * The address in an entry of a forwarding header: `192.0.2.1`, `192.0.2.1:8080`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
 * Undefined for names, `unknown`, obfuscated identifiers (RFC 7239 section 6.3) and other text.
 */
export function forwardedAddress(text: string): string | undefined {
  let candidate = text.trim()
  if (candidate.startsWith('[')) {
    const end = candidate.indexOf(']')
    if (end < 0 || !/^(:\d{1,5})?$/.test(candidate.slice(end + 1))) return undefined
    candidate = candidate.slice(1, end)
    if (!isIPv6(candidate)) return undefined
  } else {
    const colon = candidate.indexOf(':')
    if (colon >= 0 && candidate.indexOf(':', colon + 1) < 0 && /^\d{1,5}$/.test(candidate.slice(colon + 1))) {
      candidate = candidate.slice(0, colon)
    }
  }
  if (isIP(candidate) === 0) return undefined
  return plainAddress(candidate.toLowerCase())
}

/** The network of an address: an IPv6 client has a whole /64, so a limit by address would not limit it. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const gap = address.indexOf('::')
  const groups = (gap < 0 ? address : address.slice(0, gap)).split(':')
  if (groups[0] === '') groups.pop()
  if (groups.length < 4) {
    const last = gap < 0 || gap + 2 === address.length ? [] : address.slice(gap + 2).split(':')
    for (let zeros = 8 - groups.length - last.length; zeros > 0; zeros--) groups.push('0')
    groups.push(...last)
  }
  const [a, b, c, d] = groups as [string, string, string, string]
  return `${groupOf(a)}:${groupOf(b)}:${groupOf(c)}:${groupOf(d)}::/64`
}

/** From 64 to 48 bits: what providers give to one customer. */
export type NetworkBits = 64 | 56 | 48

/**
 * The networks of an address that limits count, each with its bits; an IPv4 address alone is as a network of 64 bits. A customer with
 * a /48 has 65,536 networks of 64 bits.
 */
export function networksOf(address: string): readonly (readonly [network: string, bits: NetworkBits])[] {
  const network = networkOf(address)
  if (!network.includes(':')) return [[network, 64]]
  const [a, b, c, d] = network.split(':') as [string, string, string, string]
  const upper = Number.parseInt(d, 16) & 0xff00
  return [
    [network, 64],
    [`${a}:${b}:${c}:${upper.toString(16)}::/56`, 56],
    [`${a}:${b}:${c}::/48`, 48],
  ]
}

const zero = 48

/** Without leading zeros, in lower case: most are so already. */
function groupOf(text: string): string {
  return text.charCodeAt(0) === zero ? Number.parseInt(text, 16).toString(16) : text.toLowerCase()
}
