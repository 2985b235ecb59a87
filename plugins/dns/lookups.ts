/** Questions to DNS servers, by the resolver of Node.js (c-ares): over UDP, and over TCP where an answer is cut. */
import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { CaaProperty } from './api.ts'
import { propertyOf } from './caa.ts'
import { canonicalName } from './name.ts'
import { formatServer, type NameserverAddress } from './nameserver.ts'

/** Timeout of one query to one server; each is sent at most twice. */
const queryMs = 3000
const triesMax = 2

export interface Lookups {
  /** The target of the name's CNAME; undefined if there is none. */
  cname(name: string, signal: AbortSignal): Promise<string | undefined>
  /** Whether a zone begins at the name. */
  isZone(name: string, signal: AbortSignal): Promise<boolean>
  /** Names of the authoritative servers of a zone. */
  nameservers(zone: string, signal: AbortSignal): Promise<readonly string[]>
  /** IPv4 addresses; IPv6 addresses only where there are none of IPv4, which every machine can reach. */
  addresses(host: string, signal: AbortSignal): Promise<readonly string[]>
  allAddresses(host: string, signal: AbortSignal): Promise<readonly string[]>
  /** The CAA records of this name itself. */
  caa(name: string, signal: AbortSignal): Promise<readonly CaaProperty[]>
}

/** `servers`: queried instead of the machine's resolvers; if one does not answer, the next one. */
export function createLookups(servers: readonly NameserverAddress[]): Lookups {
  const ask = async <T>(signal: AbortSignal, question: (resolver: Resolver) => Promise<T>): Promise<T | undefined> =>
    query(servers.length === 0 ? undefined : await addressesOf(servers), signal, question)

  const cname = async (name: string, signal: AbortSignal): Promise<string | undefined> => {
    const [target] = (await ask(signal, resolver => resolver.resolveCname(name))) ?? []
    return target === undefined ? undefined : canonicalName(target)
  }

  return {
    cname,
    async isZone(name, signal) {
      const soa = await ask(signal, resolver => resolver.resolveSoa(name))
      // A resolver follows a CNAME, and answers with the zone of its target. A name with a CNAME is not the top of a zone.
      return soa !== undefined && (await cname(name, signal)) === undefined
    },
    async nameservers(zone, signal) {
      return ((await ask(signal, resolver => resolver.resolveNs(zone))) ?? []).map(canonicalName)
    },
    async addresses(host, signal) {
      const found = (await ask(signal, resolver => resolver.resolve4(host))) ?? []
      return found.length > 0 ? found : ((await ask(signal, resolver => resolver.resolve6(host))) ?? [])
    },
    async allAddresses(host, signal) {
      const found = await Promise.all([
        ask(signal, resolver => resolver.resolve4(host)),
        ask(signal, resolver => resolver.resolve6(host)),
      ])
      return found.flatMap(addresses => addresses ?? [])
    },
    async caa(name, signal) {
      return ((await ask(signal, resolver => resolver.resolveCaa(name))) ?? []).map(propertyOf)
    },
  }
}

/** The values of the TXT records at a name, as one server has them. `address` is an IP address. */
export async function askTxt(server: NameserverAddress, name: string, signal: AbortSignal): Promise<readonly string[]> {
  const records = (await query([server], signal, resolver => resolver.resolveTxt(name))) ?? []
  return records.map(parts => parts.join(''))
}

/** Names among configured servers are looked up as every name of the machine is. */
export async function addressesOf(servers: readonly NameserverAddress[]): Promise<readonly NameserverAddress[]> {
  const found = await Promise.all(
    servers.map(async ({ host, port }) => {
      if (isIP(host) !== 0) return [{ host, port }]
      const addresses: LookupAddress[] = await lookup(host, { all: true }).catch(() => [])
      return addresses.map(({ address }) => ({ host: address, port }))
    }),
  )
  const all = found.flat()
  if (all.length > 0) return all
  throw new Error(
    `the names of SVC_ACME_DNS_NAMESERVERS have no address: ${servers.map(({ host }) => host).join(', ')}`,
  )
}

/** Undefined where the name, or a record of that type at it, does not exist. Rejects with a sentence without a dot. */
async function query<T>(
  servers: readonly NameserverAddress[] | undefined,
  signal: AbortSignal,
  question: (resolver: Resolver) => Promise<T>,
): Promise<T | undefined> {
  signal.throwIfAborted()
  const resolver = new Resolver({ timeout: queryMs, tries: triesMax })
  if (servers !== undefined) resolver.setServers(servers.map(formatServer))
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await question(resolver)
  } catch (error) {
    signal.throwIfAborted()
    const { code, hostname } = error as { code?: string; hostname?: string }
    if (code === 'ENODATA' || code === 'ENOTFOUND') return undefined
    const who = servers === undefined ? 'the resolver of this machine' : servers.map(formatServer).join(', ')
    throw new Error(`${who} ${meanings[code ?? ''] ?? `failed (${code})`}${hostname ? ` about ${hostname}` : ''}`)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

const meanings: Readonly<Record<string, string>> = {
  ETIMEOUT: 'gave no answer',
  ECONNREFUSED: 'gave no answer',
  EREFUSED: 'refuses to answer',
  ESERVFAIL: 'could not find out',
  EBADRESP: 'gave a malformed answer',
}
