/** Answers errors and refusals of the routes of all plugins with problem documents. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type CatalogError, isCatalogError, type Logger } from 'svc/kernel'
import type { ListenerName } from './api.ts'
import { guardHeadersOf } from './guard-headers.ts'
import { problemDocument, problemMediaType } from './problem.ts'

export interface ProblemAnswersOptions {
  readonly log: Logger
  readonly listener: ListenerName
}

/** Sets the handlers for errors, unknown paths, and new requests while the server drains. */
export const problemAnswers = fastifyPlugin<ProblemAnswersOptions>(
  (fastify, { log, listener }, done) => {
    const guard = guardHeadersOf(listener)
    fastify.addHook('onRequest', (request, reply, next) => {
      // The Admin API has its own, also for what it answers as bytes.
      if (!isUnder('/api/v1/', request)) reply.headers(guard)
      next()
    })
    fastify.setErrorHandler<FastifyError>((error, request, reply) => sendError(error, request, reply, log))
    fastify.setNotFoundHandler((request, reply) =>
      sendProblem(request, reply, 404, 'not_found', 'There is nothing at this path.'),
    )
    // Probes are answered from the start on, and, like scrapes of metrics, to the end; they have the state of the server in their answers.
    fastify.addHook('onRequest', (request, reply, next) => {
      const { starting, draining } = request.exchange
      const isServed = starting ? isUnder('/svc/health/', request) : !draining || isUnder('/svc/', request)
      if (isServed) return next()
      const later = reply.header('retry-after', '1')
      const state = starting ? 'starting' : 'stopping'
      sendProblem(request, later, 503, 'service_unavailable', `The server is ${state}. Try again.`)
    })
    done()
  },
  { name: 'svc-problem-answers', dependencies: ['svc-request-exchange'] },
)

const isUnder = (path: string, request: FastifyRequest) => request.raw.url?.startsWith(path) === true

export function sendError(
  error: FastifyError | CatalogError,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  if (isCatalogError(error)) return sendProblem(request, reply, error.status, error.code, error.message)
  const status = error.statusCode ?? 500
  if (status < 500) return sendProblem(request, reply, status, codeFor(status), error.message)
  log.error({ err: error, requestId: request.id }, 'request handler failed')
  return sendProblem(request, reply, 500, 'internal_error', 'The server failed. Its log has the reason.')
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
  // As bytes: for text Fastify would add a charset, which this media type does not have.
  return reply
    .code(status)
    .header('content-type', problemMediaType)
    .send(Buffer.from(problemDocument({ status, code, detail, requestId: request.id, instance })))
}
