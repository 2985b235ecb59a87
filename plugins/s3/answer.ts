/**
 * Writes answers. Heads go out as one flat list; bodies known whole as one write; streams by hand, with at most three
 * chunks on their way, each given back to its pool when the socket has taken it. Heads and streams never depend on the
 * client's speed for more memory than that.
 */
import type { OutgoingHttpHeader } from 'node:http'
import { constants, type Http2ServerRequest } from 'node:http2'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk, MaybePromise } from 'svc/plugins/storage/api'
import type { S3Operation, S3Result } from './api.ts'
import type { S3RequestContext } from './request.ts'
import { writeXmlRoot, xmlDeclaration } from './xml-writer.ts'

/** Chunks of a stream that may be on their way to the client. */
const chunksInFlightMax = 3
/**
 * Up to this size head and body leave in one write: as a string of bytes Node joins them, which spares a vectored write and
 * its bookkeeping.
 */
const oneWriteBytesMax = 8 * 1024
/** A remainder of a request up to this size is read away, so that the connection can go on. */
const drainBytesMax = 64 * 1024
/** How long, and for how many bytes, a client that is refused may keep sending before the connection is closed. */
const lingerMs = 1000
const lingerBytesMax = 8 * 1024 * 1024

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

/** An XML document, or only its head when the request was HEAD. */
export function sendDocument(
  context: S3RequestContext,
  status: number,
  headers: readonly OutgoingHttpHeader[],
  document: string,
): void {
  const head = ['Content-Type', 'application/xml', ...headers]
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
  response.writeHead(status, head)
  if (body !== undefined) context.sentBytes += body.length
  if (rest === 'linger') {
    if (body === undefined) response.flushHeaders()
    else response.write(body)
    linger(context)
    return
  }
  if (rest === 'drain') context.exchange.request.resume()
  if (rest === 'reset') resetStream(context)
  if (body === undefined) response.end()
  else if (body.length <= oneWriteBytesMax) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
}

/**
 * What to do with bytes of the request that nobody has read. `drain`: few, read them away. `linger`: many; the answer goes
 * out at once, and the connection ends a little later, because closing it on a client that still sends would make the
 * answer unreadable. `close`: the client waits for our word before it sends, and will not send now. `reset`: the same as `linger`
 * on HTTP/2, where a stream can end alone.
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
  readAway(context, () => context.exchange.response.end())
}

/** NO_ERROR: the answer is whole, and the rest of the request is not wanted (RFC 9113 section 8.1). */
function resetStream(context: S3RequestContext): void {
  const { stream } = context.exchange.request as unknown as Http2ServerRequest
  readAway(context, () => stream.close(constants.NGHTTP2_NO_ERROR))
}

/** Drops what still comes of the request, for a while; then, or at its end, `finish` is called once. */
function readAway(context: S3RequestContext, finish: () => void): void {
  const { request, response } = context.exchange
  let leftBytes = lingerBytesMax
  let isDone = false
  const done = () => {
    if (isDone) return
    isDone = true
    cancel()
    request.off('data', onData)
    finish()
  }
  const onData = (bytes: Buffer) => {
    leftBytes -= bytes.length
    if (leftBytes < 0) done()
  }
  const cancel = context.environment.clock.after(lingerMs, done)
  request.on('data', onData)
  request.once('end', done)
  request.once('error', done)
  response.once('close', cancel)
  request.resume()
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

/** The first chunk comes before the head: what cannot be read at all is still an error answer. */
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
  response.writeHead(status, head)
  await pump(context, data, first, sizeBytes)
}

/** Resolves when everything is handed to the socket; rejects when the data cannot be read to its end. */
function pump(
  context: S3RequestContext,
  data: Extract<ObjectData, { kind: 'stream' }>,
  first: BlobChunk | undefined,
  sizeBytes: number,
): Promise<void> {
  const { response } = context.exchange
  return new Promise((resolve, reject) => {
    const inFlight = new Set<BlobChunk>()
    let leftBytes = sizeBytes
    let isReading = false
    let isDone = false

    const stop = () => {
      if (isDone) return
      isDone = true
      data.close()
    }
    const fail = (error: unknown) => {
      if (isDone) return
      stop()
      reject(error)
    }
    const onClose = () => {
      // The socket is gone, and with it whatever it still held of these.
      for (const chunk of inFlight) chunk.release()
      inFlight.clear()
      stop()
      resolve()
    }
    const take = (chunk: BlobChunk | undefined) => {
      isReading = false
      if (isDone) {
        chunk?.release()
        return
      }
      if (chunk === undefined) {
        if (leftBytes !== 0) {
          fail(new Error(`The data of an object ended ${leftBytes} bytes early.`))
          return
        }
        stop()
        response.end()
        resolve()
        return
      }
      leftBytes -= chunk.bytes.length
      context.sentBytes += chunk.bytes.length
      inFlight.add(chunk)
      response.write(chunk.bytes, () => {
        if (!inFlight.delete(chunk)) return
        chunk.release()
        more()
      })
      more()
    }
    const more = () => {
      if (isDone || isReading || inFlight.size >= chunksInFlightMax) return
      isReading = true
      data.next().then(take, fail)
    }
    response.on('close', onClose)
    take(first)
  })
}
