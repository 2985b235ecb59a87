/** Notifies observers of every request that Fastify answered, for the routes of all plugins. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Logger } from 'svc/kernel'
import type { HttpObserver, HttpRequestRecord, ListenerName } from './api.ts'

export interface RequestObserversOptions {
  readonly listener: ListenerName
  readonly observers: readonly HttpObserver[]
  readonly log: Logger
  readonly now: () => number
}

export const requestObservers = fastifyPlugin<RequestObserversOptions>(
  (fastify, options, done) => {
    const { observers, log } = options
    if (observers.length > 0) {
      fastify.addHook('onResponse', (request, reply, next) => {
        const record = recordOf(request, reply, options)
        for (const observe of observers) {
          try {
            observe(record)
          } catch (error) {
            log.error({ err: error }, 'observer of requests failed')
          }
        }
        next()
      })
    }
    done()
  },
  { name: 'svc-request-observers', dependencies: ['svc-request-exchange'] },
)

function recordOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { listener, now }: RequestObserversOptions,
): HttpRequestRecord {
  const { exchange } = request
  const durationMs = reply.elapsedTime
  const url = request.raw.url as string
  const mark = url.indexOf('?')
  const { headers, facts } = request
  return {
    listener,
    operation: facts?.operation ?? request.routeOptions.config.operation ?? '',
    bucket: facts?.bucket ?? '',
    key: facts?.key ?? '',
    errorCode: facts?.errorCode,
    tags: facts?.tags,
    requestId: exchange.requestId,
    method: request.method,
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    presentsCredentials: headers.authorization !== undefined || headers.cookie !== undefined || isPresigned(url),
    identity: request.identity,
    clientAddress: exchange.clientAddress,
    userAgent: headers['user-agent'] ?? '',
    status: reply.statusCode,
    timeMs: now() - durationMs,
    durationMs,
    receivedBytes: facts?.receivedBytes ?? Number(headers['content-length'] ?? 0),
    sentBytes: facts?.sentBytes ?? Number(reply.getHeader('content-length') ?? 0),
    request: exchange.request,
  }
}

function isPresigned(url: string): boolean {
  return url.includes('X-Amz-Signature=') || url.includes('Signature=')
}
