/** Writes answers: JSON, bytes, or a problem document. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CatalogError, Clock } from 'svc/kernel'
import { auditTagsOf } from 'svc/plugins/auth-sigv4/api'
import { problemDocument, problemMediaType } from 'svc/plugins/http/api'
import { readAway, resetRest, sendChunks } from 'svc/plugins/payload/api'
import type { AdminOperation } from './api.ts'
import { note } from './audit-tags.ts'
import { adminErrors, problemsOf } from './errors.ts'
import { eventStreamType } from './event-stream.ts'
import type { BytesOptions, ReplyOptions } from './reply.ts'
import { problemListsOf } from './rule-problems.ts'

export const basePath = '/api/v1'
const jsonMediaType = 'application/json; charset=utf-8'

/** The status in audit and trace if the connection ended before the answer was complete. */
const abortedStatus = 499

export function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: AdminOperation,
  body: unknown,
  options: ReplyOptions,
  params: object,
): FastifyReply {
  if (options.identity !== undefined) request.identity = options.identity
  if (options.headers !== undefined) reply.headers(options.headers)
  const etag = options.etag ?? (body as { etag?: string } | undefined)?.etag
  if (operation.etag === true && etag !== undefined) reply.header('etag', `"${etag}"`)
  if (operation.location !== undefined) reply.header('location', basePath + operation.location(body, params))
  reply.code(options.status ?? statusOf(operation))
  if (operation.response === undefined) return reply.send()
  // As bytes, so that neither Fastify nor a proxy changes them.
  return reply.header('content-type', jsonMediaType).send(Buffer.from(JSON.stringify(body)))
}

/** The success status of an operation according to the conventions. */
export function statusOf({ response, events, bytes, location, isJob }: AdminOperation): number {
  if (response === undefined && events === undefined && bytes === undefined) return 204
  if (location !== undefined) return 201
  return isJob === true ? 202 : 200
}

/** Reads the first chunk before the head is sent, so that data which cannot be read at all still gives a problem document. */
export async function answerBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  { status = 200, headers, data, sizeBytes }: BytesOptions,
): Promise<FastifyReply> {
  const { response } = request.exchange
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) reply.header(name, value)
  reply.code(status)
  if (data === undefined) return reply.send()
  if (data.kind === 'whole') return reply.header('content-length', data.bytes.length).send(data.bytes)
  let first: Awaited<ReturnType<typeof data.next>>
  try {
    first = await data.next()
  } catch (error) {
    data.close()
    for (const name of Object.keys(headers)) reply.removeHeader(name)
    throw error
  }
  if (response.destroyed) {
    first?.release()
    data.close()
    return reply.hijack()
  }
  if (sizeBytes !== undefined) reply.header('content-length', sizeBytes)
  reply.hijack()
  response.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders)
  const facts = { ...request.facts, sentBytes: 0 }
  request.facts = facts
  await sendChunks(response, data, first, sizeBytes, bytes => {
    facts.sentBytes += bytes
  })
  return reply
}

export function answerProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  error: CatalogError,
  clock: Clock,
): FastifyReply {
  const { exchange } = request
  const { response } = exchange
  request.facts = { ...request.facts, errorCode: error.code }
  note(request, auditTagsOf(error) ?? {})
  if (response.headersSent || response.destroyed) {
    // The status was already sent: the broken connection shows that the answer is incomplete.
    response.destroy()
    return reply.sent ? reply : reply.hijack()
  }
  for (const [name, value] of Object.entries(error.extra ?? {})) {
    if (answerHeaders.has(name)) reply.header(name, value)
  }
  if ((error.status === 429 || error.status === 503) && !reply.hasHeader('retry-after'))
    reply.header('retry-after', '1')
  const document = problemBytes(request, error)
  reply.code(error.status).header('content-type', problemMediaType)
  if (exchange.request.complete) return reply.send(document)
  if (exchange.request.httpVersionMajor > 1) {
    resetRest(exchange, clock)
    return reply.send(document)
  }
  // The rest of the body would be taken for the next request, or would have to be read.
  reply.header('connection', 'close')
  if (exchange.awaitsContinue) return reply.send(document)
  reply.header('content-length', document.length).hijack()
  response.writeHead(error.status, reply.getHeaders() as OutgoingHttpHeaders)
  response.write(document)
  readAway(exchange, clock, () => response.end())
  return reply
}

function problemBytes(request: FastifyRequest, error: CatalogError): Buffer {
  const errors = problemsOf(error)
  return Buffer.from(
    problemDocument({
      status: error.status,
      code: error.code,
      detail: error.message,
      requestId: request.exchange.requestId,
      instance: splitTarget(request).path,
      more: { ...(errors && { errors }), ...problemListsOf(error) },
    }),
  )
}

/** Fields of an error that become headers of its answer. */
const answerHeaders = new Set(['allow', 'content-range', 'retry-after'])

/**
 * Fastify notifies observers of finished answers only. An aborted answer is reported as a failed one, so that its request is recorded, too.
 */
export function watchForAbort(request: FastifyRequest): void {
  const { response } = request.exchange
  response.once('close', () => {
    if (response.writableFinished) return
    // A stream ends normally when its client disconnects.
    if (!String(response.getHeader('content-type')).startsWith(eventStreamType)) {
      request.facts = { ...request.facts, errorCode: request.facts?.errorCode ?? 'request_aborted' }
      response.statusCode = abortedStatus
    }
    if (response.listenerCount('error') > 0) response.emit('error', adminErrors.malformed_request())
  })
}

export function splitTarget({ raw }: FastifyRequest): { readonly path: string; readonly rawQuery: string } {
  const url = raw.url as string
  const mark = url.indexOf('?')
  return mark < 0 ? { path: url, rawQuery: '' } : { path: url.slice(0, mark), rawQuery: url.slice(mark + 1) }
}
