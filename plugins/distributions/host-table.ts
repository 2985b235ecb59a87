/** Maps hosts to distributions. Compiled from all distributions; every request looks up its host. */
import { wildcardsFor } from './hosts.ts'

export interface HostMatch<T> {
  readonly alias: string
  readonly value: T
}

export interface HostTable<T> {
  readonly isEmpty: boolean
  /** The exact alias, otherwise that of the longest wildcard. `host` from `normalizeHost`. */
  find(host: string): HostMatch<T> | undefined
  /** All matches, the deciding one first. */
  all(host: string): readonly HostMatch<T>[]
}

/** Each alias has one distribution: where two name it the first keeps it. */
export function createHostTable<T>(entries: Iterable<readonly [aliases: readonly string[], value: T]>): HostTable<T> {
  const hosts = new Map<string, HostMatch<T>>()
  let hasWildcards = false
  for (const [aliases, value] of entries) {
    for (const alias of aliases) {
      if (!hosts.has(alias)) hosts.set(alias, { alias, value })
      hasWildcards ||= alias.startsWith('*.')
    }
  }
  const table: HostTable<T> = {
    isEmpty: hosts.size === 0,
    find(host) {
      // A request may have `*.example.org` itself as its host, which is not a valid host.
      if (host.startsWith('*')) return undefined
      const exact = hosts.get(host)
      if (exact !== undefined || !hasWildcards) return exact
      for (const wildcard of wildcardsFor(host)) {
        const match = hosts.get(wildcard)
        if (match !== undefined) return match
      }
      return undefined
    },
    all(host) {
      if (host.startsWith('*')) return []
      return [host, ...wildcardsFor(host)].flatMap(name => hosts.get(name) ?? [])
    },
  }
  return table
}
