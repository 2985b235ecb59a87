/** The contribution to `host.route`: sends a request to the distribution that the host table names. */
import type { MaybePromise } from 'svc/kernel'
import type { Exchange, HostRoute, ListenerName, RawHandler } from 'svc/plugins/http/api'
import { isCovered } from './certificate-names.ts'
import type { HostMatch } from './host-table.ts'
import { normalizeHost } from './hosts.ts'
import type { Registry, Table } from './registry.ts'
import { type RoutingRules, routeHost } from './routing.ts'
import type { Ready, ServeVisit } from './visit.ts'

export interface HostRouteOptions {
  readonly registry: Registry<Ready>
  readonly rules: RoutingRules
  readonly serve: ServeVisit
}

interface KnownHost {
  readonly listener: ListenerName
  readonly host: string
  readonly match: HostMatch<Ready>
}

const knownMax = 1024
/** No name of a host has more, with its port. */
const hostCharsMax = 260

/** Undefined where nothing could be routed: then requests are not asked about at all. */
export function createHostRoute({ registry, rules, serve }: HostRouteOptions): HostRoute | undefined {
  const { isOff, onS3, refusesUnknown } = rules
  const isOnS3 = (onS3 && !isOff) || refusesUnknown
  const listeners: HostRoute['listeners'] = [
    ...(isOnS3 ? (['s3'] as const) : []),
    ...(isOff ? [] : (['web', 'web-tls'] as const)),
  ]
  if (listeners.length === 0) return undefined

  /** The distribution of each host that requests have named, from the current table. */
  let known = new Map<string, KnownHost>()
  let knownOf: Table<Ready> | undefined

  function remember(given: string, found: KnownHost): void {
    if (known.size >= knownMax) known.clear()
    if (given.length <= hostCharsMax) known.set(given, found)
  }

  function decide(exchange: Exchange, table: Table<Ready>): RawHandler | 'misdirected' | undefined {
    const { hosts } = table
    // On the S3 listener nothing but this is asked while there are no distributions.
    if (hosts.isEmpty && !refusesUnknown) return undefined
    if (table !== knownOf) {
      known = new Map()
      knownOf = table
    }
    const { host: given, listener } = exchange
    const again = known.get(given)
    if (again?.listener === listener) return handlerOf(exchange, again)
    const route = routeHost(given, listener, hosts, rules)
    if (!('found' in route)) return route.match === 'misdirected' ? 'misdirected' : undefined
    const found = { listener, host: normalizeHost(given), match: route.found }
    remember(given, found)
    return handlerOf(exchange, found)
  }

  function handlerOf(exchange: Exchange, { host, match }: KnownHost): RawHandler | 'misdirected' {
    // Browsers then connect anew, and name this host from the beginning.
    return isCovered(exchange, host) ? taken => serve(taken, host, match) : 'misdirected'
  }

  return {
    stage: 'host',
    listeners,
    find(exchange): MaybePromise<RawHandler | 'misdirected' | undefined> {
      const table = registry.table()
      return table instanceof Promise ? table.then(read => decide(exchange, read)) : decide(exchange, table)
    },
  }
}
