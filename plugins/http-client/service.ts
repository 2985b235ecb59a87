import type { LookupFunction } from 'node:net'
import type { Clock } from 'svc/kernel'
import { type AddressRules, createAddressRules } from './addresses.ts'
import type { AddressGuard, HttpClient, HttpClientService, Reach } from './api.ts'
import { createClient } from './client.ts'
import type { RequestCount } from './families.ts'
import { guardOf } from './guard.ts'

export interface OutboundOptions {
  readonly allowedNetworks: readonly string[]
  readonly clock: Clock
  /** As `lookup` of `node:dns`; asked for all addresses of a name. */
  readonly lookup: LookupFunction
  readonly count: RequestCount
}

export interface RunningOutbound extends HttpClientService {
  closeAll(): Promise<void>
}

export function createHttpClientService({ allowedNetworks, clock, lookup, count }: OutboundOptions): RunningOutbound {
  const configured = createAddressRules(allowedNetworks)
  const clients = new Set<HttpClient>()

  const rulesOf = (further: readonly string[] = []): AddressRules =>
    further.length === 0 ? configured : createAddressRules([...allowedNetworks, ...further])
  const guard = (reach: Reach, further: readonly string[] = []): AddressGuard =>
    guardOf(rulesOf(further), { reach, allowedNetworks: [...allowedNetworks, ...further], lookup })

  return {
    client(options) {
      const client = createClient({
        ...options,
        guard: guard(options.reach, options.allowedNetworks),
        clock,
        count: result => count(options.purpose, result),
        onClose: () => clients.delete(client),
      })
      clients.add(client)
      return client
    },
    guard,
    urlProblem: (url, reach, further) => problemOf(url, reach, rulesOf(further)),
    async closeAll() {
      await Promise.all([...clients].map(client => client.close()))
    },
  }
}

function problemOf(text: string, reach: Reach, rules: AddressRules): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL'
  // Of a host in decimal, octal or hexadecimal numbers the parser makes the address that it is.
  const { protocol, username, password, hostname, hash } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://'
  if (username !== '' || password !== '') return 'must have no user and no password'
  if (hash !== '') return 'must have no fragment'
  const host = literalOf(hostname)
  if (host === undefined) return undefined
  const refusal = rules.refusal(host, reach)
  return refusal === undefined ? undefined : `must not be ${refusal}`
}

/** The address that a host is; undefined for a name. */
function literalOf(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^[\d.]+$/.test(hostname) ? hostname : undefined
}
