import type { Clock } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'

/** How long, and for how many bytes, a client that is refused may keep sending before the connection is closed. */
const lingerMs = 1000
const lingerBytesMax = 8 * 1024 * 1024

/**
 * Drops what still comes of the request, for a while; then, or at its end, `finish` is called once. A connection that is closed on
 * a client that still sends takes the answer with it.
 */
export function readAway(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  clock: Clock,
  finish: () => void,
): void {
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
