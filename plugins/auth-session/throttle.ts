/**
 * Who has failed to log in too often. Counted per client and per client and access key; a key alone is never locked, or
 * anybody could lock its owner out. Memory is bounded: beyond `clientsMax` the client that failed longest ago is forgotten.
 */
import type { Clock } from 'svc/kernel'
import { networkOf, refusalDetails, type ThrottleKind } from 'svc/plugins/http/api'
import { sessionErrors } from './errors.ts'

export const failuresPerKeyMax = 5
export const failuresPerClientMax = 20
export const windowMs = 5 * 60_000
export const refusalMs = 60_000
const clientsMax = 5_000

export interface LoginThrottle {
  /** Throws `too_many_requests` with the seconds to wait. */
  check(client: string, accessKey: string): void
  failed(client: string, accessKey: string): void
  /** Forgets the failures on this key, not those on others: they may be guesses all the same. */
  succeeded(client: string, accessKey: string): void
  /** Clients that are remembered. */
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

export function createLoginThrottle(clock: Clock): LoginThrottle {
  /** In the order of their last failure. */
  const clients = new Map<string, Client>()

  function refuse(kind: ThrottleKind, untilMs: number, nowMs: number): void {
    if (untilMs <= nowMs) return
    const retryAfterSeconds = Math.ceil((untilMs - nowMs) / 1000)
    throw sessionErrors.too_many_requests(undefined, refusalDetails({ kind, retryAfterSeconds }))
  }

  function forgetOld(nowMs: number): void {
    for (const [name, client] of clients) {
      const last = client.failures.at(-1)?.atMs ?? 0
      if (clients.size <= clientsMax && nowMs - last < windowMs) return
      clients.delete(name)
    }
  }

  return {
    check(address, accessKey) {
      const client = clients.get(networkOf(address))
      if (client === undefined) return
      const nowMs = clock.now()
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
      forgetOld(nowMs)
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
