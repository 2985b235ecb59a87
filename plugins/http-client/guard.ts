/** The check of connections that a client library makes, through our `lookup`. */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { type AddressRules, createAddressRules } from './addresses.ts'
import type { AddressGuard, Reach } from './api.ts'
import { HttpClientError } from './error.ts'

export interface GuardOptions {
  readonly reach: Reach
  /** Addresses and CIDR blocks that are allowed. */
  readonly allowedNetworks: readonly string[]
  /** As `lookup` of `node:dns`; asked for all addresses of a name. Default: that one. */
  readonly lookup?: LookupFunction
}

/** For threads, which have no service, of the `reach` and `allowedNetworks` of a guard that the service made; and for tests. */
export function createAddressGuard(options: GuardOptions): AddressGuard {
  return guardOf(createAddressRules(options.allowedNetworks), options)
}

export function guardOf(rules: AddressRules, options: GuardOptions): AddressGuard {
  const { reach, allowedNetworks, lookup = systemLookup } = options
  const refusal = (address: string) => rules.refusal(address, reach)
  return {
    reach,
    allowedNetworks,
    lookup: checkedLookup(lookup, refusal),
    check(host) {
      const what = refusalOfLiteral(host, refusal)
      if (what !== undefined) throw refusedError(what)
    },
    problem(host) {
      const what = refusalOfLiteral(host, refusal)
      return what === undefined ? undefined : `must not be ${what}`
    },
  }
}

/** Addresses are not looked up. */
function refusalOfLiteral(host: string, refusal: (address: string) => string | undefined): string | undefined {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  return isIP(bare) === 0 ? undefined : refusal(bare)
}

/** Allowed addresses of a name; the connection uses one of them, even if the name resolves to others a moment later. */
function checkedLookup(lookup: LookupFunction, refusal: (address: string) => string | undefined): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 4)
      const addresses = Array.isArray(found) ? found : []
      const allowed = addresses.filter(({ address }) => refusal(address) === undefined)
      const [first] = allowed
      if (first === undefined) {
        const [refused] = addresses
        return callback(refused === undefined ? noAddress() : refusedError(refusal(refused.address)!), '', 4)
      }
      if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

const refusedError = (what: string): HttpClientError =>
  new HttpClientError('address', `its address is ${what}, which is not allowed (SVC_OUTBOUND_ALLOWED_NETWORKS)`)

const noAddress = (): HttpClientError => new HttpClientError('unreachable', 'its name has no address')
