/**
 * Fastify's part: everything under `/svc/`, and all of the console listener. Routes of other plugins are registered into one
 * Fastify instance per listener; the requests reach it from our own listener, so it never listens itself.
 */
import { createServer } from 'node:http'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type CatalogError, isCatalogError, type Logger } from 'svc/kernel'
import type { Exchange, HttpObserver, HttpRequestRecord, HttpRoutes, ListenerName } from './api.ts'
import { problemDocument, problemMediaType } from './problem.ts'

export interface Application {
  handle(exchange: Exchange): void
  close(): Promise<void>
}

export interface ApplicationOptions {
  readonly listener: ListenerName
  readonly routes: readonly HttpRoutes[]
  readonly observers: readonly HttpObserver[]
  readonly log: Logger
  readonly now: () => number
}

const exchangeKey = Symbol('svc.exchange')

interface Bearer {
  [exchangeKey]: Exchange
}

function exchangeOf(request: FastifyRequest): Exchange {
  return (request.raw as unknown as Bearer)[exchangeKey]
}

/** Registers every route of the listener; resolves when Fastify is ready to answer. */
export async function createApplication(options: ApplicationOptions): Promise<Application> {
  const { listener, observers, log } = options
  const fastify: FastifyInstance = Fastify({
    serverFactory: handler => createServer(handler),
    forceCloseConnections: false,
    return503OnClosing: false,
    genReqId: request => (request as unknown as Bearer)[exchangeKey].requestId,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply as FastifyReply),
  })
  fastify.decorateRequest('exchange', {
    getter(this: FastifyRequest) {
      return exchangeOf(this)
    },
  } as unknown as Exchange)
  fastify.decorateRequest('identity', undefined)
  fastify.decorateRequest('facts', undefined)
  fastify.setErrorHandler<FastifyError>(sendError)
  fastify.setNotFoundHandler((request, reply) =>
    sendProblem(request, reply, 404, 'not_found', 'There is nothing at this path.'),
  )
  // Probes and scrapes are answered to the last moment; they say themselves that the server drains.
  fastify.addHook('onRequest', (request, reply, next) => {
    const { draining } = exchangeOf(request)
    if (!draining || request.raw.url?.startsWith('/svc/')) return next()
    sendProblem(
      request,
      reply.header('retry-after', '1'),
      503,
      'service_unavailable',
      'The server is stopping. Try again.',
    )
  })
  if (observers.length > 0) {
    fastify.addHook('onResponse', (request, reply, next) => {
      const record = recordOf(request, reply)
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
  for (const { listeners, plugin } of options.routes) {
    // A child context each: hooks and decorators of one plugin do not reach the routes of another.
    if (listeners.includes(listener)) fastify.register(plugin as Parameters<typeof fastify.register>[0])
  }
  await fastify.ready()

  function sendError(error: FastifyError | CatalogError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (isCatalogError(error)) return sendProblem(request, reply, error.status, error.code, error.message)
    const status = error.statusCode ?? 500
    if (status < 500) return sendProblem(request, reply, status, codeFor(status), error.message)
    log.error({ err: error, requestId: request.id }, 'request handler failed')
    return sendProblem(request, reply, 500, 'internal_error', 'The server failed. Its log has the reason.')
  }

  function recordOf(request: FastifyRequest, reply: FastifyReply): HttpRequestRecord {
    const exchange = exchangeOf(request)
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
      claimedAccessKey: facts?.claimedAccessKey,
      requestId: exchange.requestId,
      method: request.method,
      path: mark < 0 ? url : url.slice(0, mark),
      query: mark < 0 ? '' : url.slice(mark + 1),
      presentsCredentials: headers.authorization !== undefined || headers.cookie !== undefined || isPresigned(url),
      identity: request.identity,
      clientAddress: exchange.clientAddress,
      userAgent: headers['user-agent'] ?? '',
      status: reply.statusCode,
      timeMs: options.now() - durationMs,
      durationMs,
      receivedBytes: facts?.receivedBytes ?? Number(headers['content-length'] ?? 0),
      sentBytes: facts?.sentBytes ?? Number(reply.getHeader('content-length') ?? 0),
    }
  }

  return {
    handle(exchange) {
      ;(exchange.request as unknown as Bearer)[exchangeKey] = exchange
      fastify.routing(exchange.request, exchange.response)
    },
    close: () => fastify.close(),
  }
}

function isPresigned(url: string): boolean {
  return url.includes('X-Amz-Signature=') || url.includes('Signature=')
}

function codeFor(status: number): string {
  const codes: Readonly<Record<number, string>> = {
    404: 'not_found',
    405: 'method_not_allowed',
    413: 'entity_too_large',
    415: 'unsupported_media_type',
    429: 'too_many_requests',
  }
  return codes[status] ?? 'invalid_argument'
}

function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  code: string,
  detail: string,
): FastifyReply {
  const url = request.raw.url as string
  const mark = url.indexOf('?')
  const instance = mark < 0 ? url : url.slice(0, mark)
  request.facts = { ...request.facts, errorCode: code }
  // As bytes: to text Fastify would add a charset, which this media type does not have.
  return reply
    .code(status)
    .header('content-type', problemMediaType)
    .send(Buffer.from(problemDocument({ status, code, detail, requestId: request.id, instance })))
}
