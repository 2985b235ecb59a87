/** Gives every request of Fastify its exchange, and fields for the facts of audit and trace. */

import type { IncomingMessage } from 'node:http'
import fastifyPlugin from 'fastify-plugin'
import type { Exchange } from './api.ts'

const exchangeKey = Symbol('svc.exchange')

interface Bearer {
  [exchangeKey]: Exchange
}

/** Attaches the exchange to its request, before Fastify gets the request. */
export function bearExchange(exchange: Exchange): void {
  ;(exchange.request as unknown as Bearer)[exchangeKey] = exchange
}

export function exchangeOf(request: IncomingMessage): Exchange {
  return (request as unknown as Bearer)[exchangeKey]
}

/** Decorates requests with `exchange`, `identity` and `facts`, in the routes of all plugins. */
export const requestExchange = fastifyPlugin(
  (fastify, _options, done) => {
    fastify.decorateRequest('exchange', {
      getter() {
        return exchangeOf(this.raw)
      },
    })
    fastify.decorateRequest('identity', undefined)
    fastify.decorateRequest('facts', undefined)
    done()
  },
  { name: 'svc-request-exchange' },
)
