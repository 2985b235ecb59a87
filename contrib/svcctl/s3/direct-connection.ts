/**
 * A pool of lines for GET and HEAD requests. Bodies go from the socket into memory of the caller, without allocation and without a copy.
 * (A stream allocates 64 KiB for each read of the socket, and the garbage collector has to free it.) See `direct-line.ts` for one line.
 */
import { broken, type DirectOptions, type DirectRequest, Exchange, Line } from './direct-line.ts'
import type { HttpAnswer } from './messages.ts'

export interface DirectConnection {
  /** Undefined: a line cannot parse the answer, and the sink has received none of it. */
  get(request: DirectRequest): Promise<HttpAnswer | undefined>
  close(): void
}

export const closed = () => broken('ECONNABORTED', 'the connection was closed')

export function createDirectConnection(options: DirectOptions): DirectConnection {
  const idle: Line[] = []
  const lines = new Set<Line>()
  const waiting: Exchange[] = []
  let isClosed = false

  function begin(exchange: Exchange): void {
    if (isClosed) {
      exchange.reject(closed())
      return
    }
    // The most recently used line is the least likely to be closed by the server.
    let line = idle.pop()
    if (line === undefined) {
      if (lines.size >= options.connectionCount) {
        waiting.push(exchange)
        return
      }
      line = new Line(options, { onIdle, onClosed, onUnserved: begin })
      lines.add(line)
    }
    line.serve(exchange)
  }

  function onIdle(line: Line): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(line)
    else line.serve(next)
  }

  function onClosed(line: Line): void {
    lines.delete(line)
    const at = idle.indexOf(line)
    if (at !== -1) idle.splice(at, 1)
    const next = waiting.shift()
    if (next !== undefined) begin(next)
  }

  return {
    get: request =>
      new Promise((resolve, reject) => {
        const { signal } = request
        if (signal?.aborted) return reject(signal.reason)
        const exchange = new Exchange(request, resolve, reject)
        if (signal !== undefined) {
          exchange.onAbort = () => {
            const at = waiting.indexOf(exchange)
            if (at !== -1) waiting.splice(at, 1)
            if (exchange.line === undefined) exchange.reject(signal.reason)
            else exchange.line.fail(signal.reason)
          }
          signal.addEventListener('abort', exchange.onAbort)
        }
        begin(exchange)
      }),
    close() {
      isClosed = true
      for (const line of lines) line.fail(closed())
      for (const exchange of waiting.splice(0)) exchange.reject(closed())
    },
  }
}
