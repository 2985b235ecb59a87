/**
 * Who has failed to log in too often. Counted per client and per client and access key, and for IPv6 also per network that a provider gives
 * to one customer; a key alone is never locked, or anybody could lock its owner out. Memory is bounded: beyond `clientsMax` the client that
 * failed longest ago is forgotten, and so are wider networks.
 */
import type { Clock } from 'svc/kernel'
import { type NetworkBits, networkOf, networksOf, refusalDetails, type ThrottleKind } from 'svc/plugins/http/api'
import { sessionErrors } from './errors.ts'

export const failuresPerKeyMax = 5
export const failuresPerClientMax = 20
/** With any key: a customer of a provider has a whole network of this many bits. */
export const failuresPerNetworkMax: Readonly<Record<Exclude<NetworkBits, 64>, number>> = { 56: 100, 48: 400 }
export const windowMs = 5 * 60_000
export const refusalMs = 60_000
const clientsMax = 5_000

export interface LoginThrottle {
  /** Throws `too_many_requests` with the seconds to wait. */
  check(client: string, accessKey: string): void
  failed(client: string, accessKey: string): void
  /** Forgets the failures on this key, not those on others: they may be guesses all the same. */
  succeeded(client: string, accessKey: string): void
  /** Clients that are remembered, without wider networks. */
  readonly size: number
}

interface Failure {
  readonly atMs: number
  readonly accessKey: string
}

interface Client {
  /** Failures within the last `windowMs`, oldest first. There are at most `failuresPerClientMax`, because further attempts are refused. */
  failures: Failure[]
  refusedUntilMs: number
  readonly refusedKeys: Map<string, number>
}

interface WiderNetwork {
  /** Times of the failures within the last `windowMs`, oldest first, at most as many as are refused. */
  failuresMs: number[]
  refusedUntilMs: number
}

export function createLoginThrottle(clock: Clock): LoginThrottle {
  /** In the order of their last failure, as the others. */
  const clients = new Map<string, Client>()
  const widerNetworks = new Map<string, WiderNetwork>()

  function refuse(kind: ThrottleKind, untilMs: number, nowMs: number): void {
    if (untilMs <= nowMs) return
    const retryAfterSeconds = Math.ceil((untilMs - nowMs) / 1000)
    throw sessionErrors.too_many_requests(undefined, refusalDetails({ kind, retryAfterSeconds }))
  }

  function forgetOld<T>(all: Map<string, T>, lastOf: (one: T) => number | undefined, nowMs: number): void {
    for (const [name, one] of all) {
      if (all.size <= clientsMax && nowMs - (lastOf(one) ?? 0) < windowMs) return
      all.delete(name)
    }
  }

  /** A success takes nothing back here: one of many clients has it, and others may be guessing. */
  function failedIn(network: string, max: number, nowMs: number): void {
    const wider: WiderNetwork = widerNetworks.get(network) ?? { failuresMs: [], refusedUntilMs: 0 }
    const recent = wider.failuresMs.filter(atMs => nowMs - atMs < windowMs)
    recent.push(nowMs)
    wider.failuresMs = recent.slice(-max)
    if (recent.length >= max) wider.refusedUntilMs = nowMs + refusalMs
    widerNetworks.delete(network)
    widerNetworks.set(network, wider)
    forgetOld(widerNetworks, ({ failuresMs }) => failuresMs.at(-1), nowMs)
  }

  return {
    check(address, accessKey) {
      const nowMs = clock.now()
      for (const [network, bits] of networksOf(address)) {
        if (bits !== 64) refuse('ip', widerNetworks.get(network)?.refusedUntilMs ?? 0, nowMs)
      }
      const client = clients.get(networkOf(address))
      if (client === undefined) return
      refuse('ip', client.refusedUntilMs, nowMs)
      refuse('user', client.refusedKeys.get(accessKey) ?? 0, nowMs)
    },

    failed(address, accessKey) {
      const nowMs = clock.now()
      const name = networkOf(address)
      const client: Client = clients.get(name) ?? { failures: [], refusedUntilMs: 0, refusedKeys: new Map() }
      const recent = client.failures.filter(({ atMs }) => nowMs - atMs < windowMs)
      recent.push({ atMs: nowMs, accessKey })
      client.failures = recent.slice(-failuresPerClientMax)
      for (const [key, untilMs] of client.refusedKeys) if (untilMs <= nowMs) client.refusedKeys.delete(key)
      const onKey = client.failures.filter(failure => failure.accessKey === accessKey).length
      if (onKey >= failuresPerKeyMax) client.refusedKeys.set(accessKey, nowMs + refusalMs)
      if (client.failures.length >= failuresPerClientMax) client.refusedUntilMs = nowMs + refusalMs
      clients.delete(name)
      clients.set(name, client)
      forgetOld(clients, ({ failures }) => failures.at(-1)?.atMs, nowMs)
      for (const [network, bits] of networksOf(address)) {
        if (bits !== 64) failedIn(network, failuresPerNetworkMax[bits], nowMs)
      }
    },

    succeeded(address, accessKey) {
      const client = clients.get(networkOf(address))
      if (client === undefined) return
      client.failures = client.failures.filter(failure => failure.accessKey !== accessKey)
      client.refusedKeys.delete(accessKey)
      if (client.failures.length === 0) clients.delete(networkOf(address))
    },

    get size() {
      return clients.size
    },
  }
}
