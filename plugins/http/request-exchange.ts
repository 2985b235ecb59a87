/** Gives every request of Fastify its exchange, and fields for the facts of audit and trace. */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
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
    // A request without a body has ended when it comes; a parser of Fastify would wait for its end for ever.
    fastify.addHook('preParsing', (_request, _reply, payload, next) => {
      next(null, (payload as Readable).readableEnded ? Readable.from([]) : payload)
    })
    done()
  },
  { name: 'svc-request-exchange' },
)
