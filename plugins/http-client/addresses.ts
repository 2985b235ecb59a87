/**
 * Which addresses may be connected to. An IPv6 address that carries an IPv4 address (mapped, translated, tunnelled) is judged by
 * both: the other end is the IPv4 one.
 */
import { BlockList, isIP } from 'node:net'
import type { Reach } from './api.ts'

export interface AddressRules {
  /** Why a connection to an address is forbidden: `a link-local address`. Undefined if it is allowed. Text that is not an address is forbidden. */
  refusal(address: string, reach: Reach): string | undefined
}

type Range = readonly [cidr: string, what: string]

/** Sources: RFC 6890 and its registries; documentation of cloud providers for addresses of their metadata services. */
const neverRanges: readonly Range[] = [
  ['0.0.0.0/8', 'an unspecified address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['240.0.0.0/4', 'a reserved address'],
  ['100.100.100.200/32', 'the address of a metadata service'],
  ['168.63.129.16/32', 'the address of a metadata service'],
  ['192.0.0.192/32', 'the address of a metadata service'],
  ['::/128', 'an unspecified address'],
  ['fe80::/10', 'a link-local address'],
  ['ff00::/8', 'a multicast address'],
  ['fd00:ec2::/32', 'the address of a metadata service'],
  ['fd20:ce::254/128', 'the address of a metadata service'],
  ['fd00:c1::a9fe:a9fe/128', 'the address of a metadata service'],
  ['fd00:42::42/128', 'the address of a metadata service'],
]

const privateRanges: readonly Range[] = [
  ['127.0.0.0/8', 'a loopback address'],
  ['10.0.0.0/8', 'a private address'],
  ['172.16.0.0/12', 'a private address'],
  ['192.168.0.0/16', 'a private address'],
  ['100.64.0.0/10', 'a shared address'],
  ['192.0.0.0/24', 'a reserved address'],
  ['192.0.2.0/24', 'a reserved address'],
  ['198.18.0.0/15', 'a reserved address'],
  ['198.51.100.0/24', 'a reserved address'],
  ['203.0.113.0/24', 'a reserved address'],
  ['::1/128', 'a loopback address'],
  ['fc00::/7', 'a private address'],
  ['fec0::/10', 'a private address'],
  ['100::/64', 'a reserved address'],
  ['2001:db8::/32', 'a reserved address'],
]

const never = neverRanges.map(compileRange)
const notPublic = privateRanges.map(compileRange)

/** Undefined when the text is an address or a CIDR block. */
export function blockProblem(text: string): string | undefined {
  const [address, prefix, ...rest] = text.split('/')
  const family = isIP(address ?? '')
  if (family === 0 || rest.length > 0) return `${JSON.stringify(text)} is neither an IP address nor a CIDR block`
  if (prefix === undefined) return undefined
  const bitsMax = family === 4 ? 32 : 128
  if (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsMax) return undefined
  return `${JSON.stringify(text)} has no prefix length between 0 and ${bitsMax}`
}

/** `allowed`: valid addresses and CIDR blocks, to which connections are always allowed. */
export function createAddressRules(allowed: readonly string[]): AddressRules {
  const exceptions = new BlockList()
  for (const text of allowed) addBlock(exceptions, text)

  function refusalOf(address: string, reach: Reach): string | undefined {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (exceptions.check(address, family)) return undefined
    const found =
      never.find(({ list }) => list.check(address, family)) ??
      (reach === 'public' ? notPublic.find(({ list }) => list.check(address, family)) : undefined)
    return found?.what
  }

  return {
    refusal(address, reach) {
      // A zone names the interface, not the kind of address.
      const [bare = ''] = address.split('%')
      const family = isIP(bare)
      if (family === 0) return 'not an address'
      if (family === 4) return refusalOf(bare, reach)
      for (const candidate of [bare, ...carriedAddresses(groupsOf(bare))]) {
        const refusal = refusalOf(candidate, reach)
        if (refusal !== undefined) return refusal
      }
      return undefined
    },
  }
}

function compileRange([cidr, what]: Range) {
  const list = new BlockList()
  addBlock(list, cidr)
  return { list, what }
}

function addBlock(list: BlockList, text: string): void {
  const problem = blockProblem(text)
  if (problem !== undefined) throw new TypeError(problem)
  const [address, prefix] = text.split('/') as [string, string | undefined]
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
  if (prefix === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(prefix), family)
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  // The parser of URLs knows every way to write one, and writes them in one.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head, tail] = canonical.split('::') as [string, string | undefined]
  const numbers = (text: string) => (text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16)))
  const front = numbers(head)
  const back = numbers(tail ?? '')
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** IPv4 addresses in an IPv6 address, in each of the ways that there are. */
function carriedAddresses(groups: readonly number[]): readonly string[] {
  const [a, b, c, d, e, f, g, h] = groups as [number, number, number, number, number, number, number, number]
  const isZero = (from: number, to: number) => groups.slice(from, to).every(group => group === 0)
  // Compatible and mapped (RFC 4291), translated (RFC 2765). `::1` is no IPv4 address.
  if (isZero(0, 6) && g !== 0) return [dotted(g, h)]
  if (isZero(0, 5) && f === 0xffff) return [dotted(g, h)]
  if (isZero(0, 4) && e === 0xffff && f === 0) return [dotted(g, h)]
  if (a === 0x64 && b === 0xff9b) {
    // NAT64 (RFC 6052): the well-known prefix; of the local one (RFC 8215) both lengths that are in use. What is zero carries none.
    if (c !== 1) return [dotted(g, h)]
    const short = isZero(3, 6) ? [] : [dotted(d, ((e & 0xff) << 8) | (f >> 8))]
    return isZero(6, 8) ? short : [...short, dotted(g, h)]
  }
  // 6to4 (RFC 3056); Teredo (RFC 4380) has the client's address inverted.
  if (a === 0x2002) return [dotted(b, c)]
  if (a === 0x2001 && b === 0) return [dotted(c, d), dotted(g ^ 0xffff, h ^ 0xffff)]
  // ISATAP (RFC 5214).
  if ((e & 0xfdff) === 0 && f === 0x5efe) return [dotted(g, h)]
  return []
}

function dotted(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
