/** Waits until every authoritative server of a zone answers with a value. */
import type { Clock } from 'svc/kernel'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { addressesOf, askTxt, type Lookups } from './lookups.ts'
import { dnsPort, formatServer, type NameserverAddress } from './nameserver.ts'
import { pause } from './waiting.ts'

/** Maximum numbers for one zone. */
const nameserversMax = 16
const addressesMax = 32
/** Wait for several servers behind one address: after one has answered, another one may get the next query. */
const settleMsMax = 5000
const toldMax = 3

interface Server {
  readonly label: string
  readonly address: NameserverAddress
}

export interface PropagationOptions {
  readonly lookups: Lookups
  /** Asked instead of the authoritative servers, where there are any. */
  readonly configured: readonly NameserverAddress[]
  /** Allowed addresses of authoritative servers: a zone may name any address. */
  readonly guard: AddressGuard
  readonly clock: Clock
  /** Port of authoritative servers; default 53. */
  readonly authoritativePort?: number
}

export interface PublishedValue {
  readonly record: string
  readonly zone: string
  readonly value: string
}

export interface Propagation {
  /** Rejects with a sentence without a dot that names the servers without the value. */
  wait(
    published: PublishedValue,
    times: { readonly pollingIntervalMs: number; readonly timeoutMs: number; readonly ttlSeconds: number },
    signal: AbortSignal,
  ): Promise<void>
  /** Whether all servers answer, and none of them has the value. Checks once, without waiting. */
  isAbsent(published: PublishedValue, signal: AbortSignal): Promise<boolean>
}

export function createPropagation(options: PropagationOptions): Propagation {
  const { clock } = options
  return {
    async wait({ record, zone, value }, { pollingIntervalMs, timeoutMs, ttlSeconds }, signal) {
      const deadlineNs = clock.monotonicNs() + BigInt(timeoutMs) * 1_000_000n
      let waiting = await serversOf(options, zone, signal)
      for (;;) {
        const found = await Promise.all(waiting.map(server => problemOf(server, record, value, signal)))
        const missing = found.filter(problem => problem !== undefined)
        if (missing.length === 0) break
        waiting = waiting.filter((_, index) => found[index] !== undefined)
        if (clock.monotonicNs() + BigInt(pollingIntervalMs) * 1_000_000n > deadlineNs) {
          const more = missing.length > toldMax ? `, and ${missing.length - toldMax} more` : ''
          throw new Error(`after ${timeoutMs / 1000} s ${missing.slice(0, toldMax).join(', ')}${more}`)
        }
        await pause(clock, pollingIntervalMs, signal)
      }
      await pause(clock, Math.min(ttlSeconds * 1000, settleMsMax), signal)
    },
    async isAbsent({ record, zone, value }, signal) {
      const servers = await serversOf(options, zone, signal)
      const values = await Promise.all(servers.map(({ address }) => askTxt(address, record, signal)))
      return !values.flat().includes(value)
    },
  }
}

async function serversOf(options: PropagationOptions, zone: string, signal: AbortSignal): Promise<readonly Server[]> {
  const { lookups, configured, guard, authoritativePort = dnsPort } = options
  if (configured.length > 0) {
    return (await addressesOf(configured)).map(address => ({ label: formatServer(address), address }))
  }
  const names = (await lookups.nameservers(zone, signal)).slice(0, nameserversMax)
  const found = await Promise.all(
    names.map(async name => {
      const addresses = await lookups.addresses(name, signal)
      return addresses.map(host => ({ label: `${name} (${host})`, address: { host, port: authoritativePort } }))
    }),
  )
  const servers = found.flat().slice(0, addressesMax)
  if (servers.length === 0) throw new Error(`the zone ${zone} has no nameserver with an address`)
  for (const { label, address } of servers) {
    const refusal = guard.problem(address.host)
    if (refusal !== undefined) throw new Error(`the nameserver ${label} of ${zone} ${refusal}`)
  }
  return servers
}

/** Undefined: the server has the value. */
async function problemOf(
  { label, address }: Server,
  record: string,
  value: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const values = await askTxt(address, record, signal)
    return values.includes(value) ? undefined : `${label} does not have the value`
  } catch (error) {
    signal.throwIfAborted()
    return (error as Error).message
  }
}
