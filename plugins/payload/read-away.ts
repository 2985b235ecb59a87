import { constants, type Http2ServerRequest } from 'node:http2'
import type { Clock } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'

/** Time and bytes for which a refused client may continue to send before the connection is closed. */
const lingerMs = 1000
const lingerBytesMax = 8 * 1024 * 1024

/**
 * Drains the rest of the request, within bounds; then, or at its end, calls `finish` once. If the connection were closed while the
 * client still sends, the client would lose the answer.
 */
export function readAway(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  clock: Clock,
  finish: () => void,
): void {
  if (request.readableEnded) {
    finish()
    return
  }
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
  const cancel = clock.after(lingerMs, done)
  request.on('data', onData)
  request.once('end', done)
  request.once('error', done)
  response.once('close', cancel)
  request.resume()
}

/**
 * Ends an HTTP/2 stream whose request is refused before its end. NO_ERROR: the answer is complete, and the rest of the request is not needed
 * (RFC 9113 section 8.1); without it a client whose window is used up waits for ever. Clients in Go lose the answer if the reset comes before its
 * end, so the reset waits; if the request has ended, too, the stream closes by itself.
 */
export function resetRest(exchange: Pick<Exchange, 'request' | 'response'>, clock: Clock): void {
  const { stream } = exchange.request as unknown as Http2ServerRequest
  const reset = () => stream.close(constants.NGHTTP2_NO_ERROR)
  readAway(exchange, clock, () => {
    if (stream.readableEnded) return
    if (stream.writableFinished) reset()
    else stream.once('finish', reset)
  })
}
