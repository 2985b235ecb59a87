/** Lists of addresses and CIDR blocks. */
import { BlockList, isIP } from 'node:net'

export type AddressList = (address: string) => boolean

/** Throws a sentence without subject if an entry is neither an address nor a CIDR block. */
export function compileAddresses(blocks: readonly string[]): AddressList {
  const list = new BlockList()
  for (const block of blocks) {
    const [address, prefix] = block.split('/')
    const family = isIP(address)
    const bits = family === 4 ? 32 : 128
    if (family === 0 || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))) {
      throw new TypeError(`has ${JSON.stringify(block)}, which is neither an address nor a CIDR block`)
    }
    const type = family === 4 ? 'ipv4' : 'ipv6'
    if (prefix === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(prefix), type)
  }
  return address => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}
