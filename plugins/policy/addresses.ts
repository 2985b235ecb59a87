/** IP addresses and CIDR blocks, IPv4 and IPv6. An IPv4-mapped IPv6 address is the IPv4 address that it maps. */
import { isIP } from 'node:net'

/** Four words of 32 bits; an IPv4 address is the last one, and the others are zero. */
export interface Address {
  readonly family: 4 | 6
  readonly words: readonly [number, number, number, number]
}

export interface AddressBlock {
  readonly address: Address
  /** Number of significant bits: at most 32 for IPv4 and 128 for IPv6. */
  readonly prefixLength: number
}

/** Undefined for invalid addresses. A zone (`%eth0`) is dropped. */
export function parseAddress(text: string): Address | undefined {
  const zone = text.indexOf('%')
  const plain = zone < 0 ? text : text.slice(0, zone)
  const family = isIP(plain)
  if (family === 0) return undefined
  if (family === 4) return { family: 4, words: [0, 0, 0, parseIPv4(plain)] }
  const groups = parseGroups(plain)
  const word = (index: number) => ((groups[index * 2] << 16) | groups[index * 2 + 1]) >>> 0
  const words = [word(0), word(1), word(2), word(3)] as const
  if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff) return { family: 4, words: [0, 0, 0, words[3]] }
  return { family: 6, words }
}

/** An address or a CIDR block; bits after the prefix are ignored. Undefined for invalid text. */
export function parseBlock(text: string): AddressBlock | undefined {
  const slash = text.indexOf('/')
  const addressText = slash < 0 ? text : text.slice(0, slash)
  if (addressText.includes('%')) return undefined
  const address = parseAddress(addressText)
  if (address === undefined) return undefined
  const bits = address.family === 4 ? 32 : 128
  if (slash < 0) return { address, prefixLength: bits }
  const digits = text.slice(slash + 1)
  if (!/^(?:0|[1-9]\d{0,2})$/.test(digits)) return undefined
  // The prefix length of an IPv4-mapped block counts from the start of the IPv6 address.
  const isMapped = address.family === 4 && addressText.includes(':')
  const prefixLength = isMapped ? Number(digits) - 96 : Number(digits)
  return prefixLength < 0 || prefixLength > bits ? undefined : { address, prefixLength }
}

export function isInBlock({ family, words }: Address, block: AddressBlock): boolean {
  if (family !== block.address.family) return false
  const start = family === 4 ? 3 : 0
  let bits = block.prefixLength
  for (let index = start; index < 4 && bits > 0; index++, bits -= 32) {
    const mask = bits >= 32 ? -1 : -1 << (32 - bits)
    if (((words[index] ^ block.address.words[index]) & mask) !== 0) return false
  }
  return true
}

function parseIPv4(text: string): number {
  let value = 0
  for (const part of text.split('.')) value = value * 256 + Number(part)
  return value
}

/** Eight groups of 16 bits of a valid IPv6 address. */
function parseGroups(text: string): number[] {
  const [head, tail] = text.split('::')
  const front = groupsOf(head)
  if (tail === undefined) return front
  const back = groupsOf(tail)
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap(group => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const value = parseIPv4(group)
    return [value >>> 16, value & 0xffff]
  })
}
