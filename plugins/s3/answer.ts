/** Writes answers: the head as one flat list, a body in memory with one write, a stream chunk by chunk (see chunks.ts). */
import type { OutgoingHttpHeader } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { ObjectData } from 'svc/plugins/objects/api'
import { readAway, resetRest, sendChunks } from 'svc/plugins/payload/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { S3Operation, S3Result } from './api.ts'
import type { S3RequestContext } from './request.ts'
import { writeXmlRoot, xmlDeclaration } from './xml-writer.ts'

/** Up to this size the rest of a request is read and dropped, so that the connection can be used for the next request. */
const drainBytesMax = 64 * 1024

export function answer(context: S3RequestContext, operation: S3Operation, result: S3Result): MaybePromise<void> {
  const { reply } = operation
  const status = result.status ?? (reply.kind === 'empty' ? reply.status : 200)
  const head = headOf(context, result)
  if (reply.kind === 'xml' && result.xml !== undefined) {
    sendDocument(context, status, head, xmlDeclaration + writeXmlRoot(reply.root, result.xml))
    return
  }
  if (result.data !== undefined && status !== 304) {
    return sendData(context, status, head, result.data, result.sizeBytes!)
  }
  const sizeBytes = context.method === 'HEAD' ? result.sizeBytes : 0
  if (status !== 204 && status !== 304 && sizeBytes !== undefined) head.push('Content-Length', String(sizeBytes))
  send(context, status, head, undefined)
}

function headOf(context: S3RequestContext, result: S3Result): OutgoingHttpHeader[] {
  const head: OutgoingHttpHeader[] = ['x-amz-id-2', context.environment.hostId]
  const { headers } = result
  if (headers === undefined) return head
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) head.push(name, value)
  }
  return head
}

/** An XML document; only its head for a HEAD request. */
export function sendDocument(
  context: S3RequestContext,
  status: number,
  headers: readonly OutgoingHttpHeader[],
  document: string,
  contentType = 'application/xml',
): void {
  const head = ['Content-Type', contentType, ...headers]
  if (headers[0] !== 'x-amz-id-2') head.push('x-amz-id-2', context.environment.hostId)
  if (context.method === 'HEAD') {
    send(context, status, head, undefined)
    return
  }
  const body = Buffer.from(document, 'utf8')
  head.push('Content-Length', String(body.length))
  send(context, status, head, body)
}

function send(context: S3RequestContext, status: number, head: OutgoingHttpHeader[], body: Buffer | undefined): void {
  const { response } = context.exchange
  const rest = restOfRequest(context)
  if (rest === 'close' || rest === 'linger') head.push('Connection', 'close')
  if (context.answerHeaders !== undefined) head.push(...context.answerHeaders)
  response.writeHead(status, head)
  if (body !== undefined) context.sentBytes += body.length
  if (rest === 'linger') {
    if (body === undefined) response.flushHeaders()
    else response.write(body)
    linger(context)
    return
  }
  if (rest === 'drain') context.exchange.request.resume()
  if (rest === 'reset') resetRest(context.exchange, context.environment.clock)
  if (body === undefined) response.end()
  else response.end(body)
}

/**
 * How to treat unread bytes of the request. `drain`: few, which are read and dropped. `linger`: many; the answer is sent at once and the
 * connection is closed a little later, because a client that is still sending could not read the answer otherwise. `close`: the client
 * waits for `100 Continue` before it sends, and will not send now. `reset`: like `linger` on HTTP/2, where a single stream can be ended.
 */
function restOfRequest(context: S3RequestContext): 'none' | 'drain' | 'linger' | 'close' | 'reset' {
  const { request } = context.exchange
  if (!context.hasUnreadBody) return 'none'
  if (request.httpVersionMajor > 1) return 'reset'
  if (context.exchange.awaitsContinue) return 'close'
  const length = request.headers['content-length']
  return length !== undefined && Number(length) <= drainBytesMax ? 'drain' : 'linger'
}

function linger(context: S3RequestContext): void {
  readAway(context.exchange, context.environment.clock, () => context.exchange.response.end())
}

function sendData(
  context: S3RequestContext,
  status: number,
  head: OutgoingHttpHeader[],
  data: ObjectData,
  sizeBytes: number,
): MaybePromise<void> {
  head.push('Content-Length', sizeBytes)
  if (data.kind === 'whole') {
    send(context, status, head, data.bytes)
    return
  }
  return sendStream(context, status, head, data, sizeBytes)
}

/** Reads the first chunk before the head is sent, so that a body which cannot be read at all still gives an error answer. */
async function sendStream(
  context: S3RequestContext,
  status: number,
  head: OutgoingHttpHeader[],
  data: Extract<ObjectData, { kind: 'stream' }>,
  sizeBytes: number,
): Promise<void> {
  const { response } = context.exchange
  let first: BlobChunk | undefined
  try {
    first = await data.next()
  } catch (error) {
    data.close()
    throw error
  }
  if (context.isClosed) {
    first?.release()
    data.close()
    return
  }
  if (context.answerHeaders !== undefined) head.push(...context.answerHeaders)
  response.writeHead(status, head)
  await sendChunks(response, data, first, sizeBytes, bytes => {
    context.sentBytes += bytes
  })
}
