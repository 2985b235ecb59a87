/** Who answers a request, by its host or path: the routes of one listener, asked in turn until one takes it. */
import type { MaybePromise } from 'svc/kernel'
import type { Exchange, HostRoute, ListenerName, RawHandler } from './api.ts'

export type HostRouteAnswer = RawHandler | 'misdirected' | undefined
export type HostRouter = (exchange: Exchange) => MaybePromise<HostRouteAnswer>

/** Undefined where nobody has a route on the listener: then its requests cost nothing. */
export function createHostRouter(routes: readonly HostRoute[], listener: ListenerName): HostRouter | undefined {
  const here = routes.filter(({ listeners }) => (listeners as readonly ListenerName[]).includes(listener))
  if (here.length === 0) return undefined
  const ordered = [...here.filter(isChallenge), ...here.filter(route => !isChallenge(route))]

  function ask(exchange: Exchange, from: number): MaybePromise<HostRouteAnswer> {
    const url = exchange.request.url as string
    for (let index = from; index < ordered.length; index++) {
      const { pathPrefix, find } = ordered[index]
      if (pathPrefix !== undefined && !url.startsWith(pathPrefix)) continue
      const found = find(exchange)
      if (found instanceof Promise) return found.then(answer => answer ?? ask(exchange, index + 1))
      if (found !== undefined) return found
    }
    return undefined
  }
  return exchange => ask(exchange, 0)
}

const isChallenge = ({ stage }: HostRoute) => stage === 'challenge'
