/** The contribution to `host.route`: sends a request to the distribution that the host table names. */
import type { MaybePromise } from 'svc/kernel'
import type { Exchange, HostRoute, RawHandler } from 'svc/plugins/http/api'
import { isCovered } from './certificate-names.ts'
import { normalizeHost } from './hosts.ts'
import type { Registry, Table } from './registry.ts'
import { type RoutingRules, routeHost } from './routing.ts'
import type { Ready, ServeVisit } from './visit.ts'

export interface HostRouteOptions {
  readonly registry: Registry<Ready>
  readonly rules: RoutingRules
  readonly serve: ServeVisit
}

/** Undefined where nothing could be routed: then requests are not asked about at all. */
export function createHostRoute({ registry, rules, serve }: HostRouteOptions): HostRoute | undefined {
  const { isOff, onS3, refusesUnknown } = rules
  const isOnS3 = (onS3 && !isOff) || refusesUnknown
  const listeners: HostRoute['listeners'] = [
    ...(isOnS3 ? (['s3'] as const) : []),
    ...(isOff ? [] : (['web', 'web-tls'] as const)),
  ]
  if (listeners.length === 0) return undefined

  function decide(exchange: Exchange, { hosts }: Table<Ready>): RawHandler | 'misdirected' | undefined {
    // On the S3 listener nothing but this is asked while there are no distributions.
    if (hosts.isEmpty && !refusesUnknown) return undefined
    const route = routeHost(exchange.host, exchange.listener, hosts, rules)
    if ('found' in route) {
      const { found } = route
      const host = normalizeHost(exchange.host)
      // Browsers then connect anew, and name this host from the beginning.
      if (!isCovered(exchange, host)) return 'misdirected'
      return taken => serve(taken, host, found)
    }
    return route.match === 'misdirected' ? 'misdirected' : undefined
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
