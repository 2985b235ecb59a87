/**
 * Responses of Node.js that include our two headers. Setting the headers separately would make every answer use the slow merge of headers
 * in Node.js (about 2 µs); here they are appended to the list that `writeHead` writes anyway.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import { ServerResponse } from 'node:http'
import { type Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { endTogether } from './answer-batch.ts'
import type { Connection } from './connection.ts'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

/** Shared by all responses of a listener. */
export interface DrainState {
  draining: boolean
}

export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  requestId = ''
  /** The connection that counts this response as in flight. */
  countedBy: Connection | undefined = undefined
  /** The request began before the server drained: draining waits for it. */
  awaited = false
  /** The request belongs to the mount. */
  mounted = false
  drainState: DrainState | undefined = undefined

  override writeHead(statusCode: number, reason?: string | Headers, headers?: Headers): this {
    if (this.drainState?.draining === true) this.shouldKeepAlive = false
    if (typeof reason === 'string') return super.writeHead(statusCode, reason, withOurs(headers, this.requestId))
    return super.writeHead(statusCode, withOurs(reason ?? headers, this.requestId))
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `end` are Node's
  override end(...parameters: any[]): this {
    endTogether(() => {
      try {
        ;(super.end as (...parameters: unknown[]) => this)(...parameters)
      } catch (error) {
        // There is no caller that could get the error, and the other answers of this turn must still be sent.
        this.destroy(error as Error)
      }
    })
    return this
  }
}

function withOurs(headers: Headers | undefined, requestId: string): OutgoingHttpHeader[] {
  const ours: OutgoingHttpHeader[] = ['Server', 'svc', 'x-amz-request-id', requestId]
  if (headers === undefined) return ours
  if (Array.isArray(headers)) return headers.concat(ours)
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) ours.push(name, value)
  }
  return ours
}

/** HTTP/2 through the compatibility layer of Node.js; counts written bytes, to detect streams without progress. */
export class Http2Response<
  Request extends Http2ServerRequest = Http2ServerRequest,
> extends Http2ServerResponse<Request> {
  requestId = ''
  countedBy: Connection | undefined = undefined
  awaited = false
  mounted = false
  writtenBytes = 0
  /** For the check in `sessions.ts`: bytes that were sent at the last check, and the time since that number changed. */
  flushedBytes = -1
  stalledMs = 0

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `write` are Node's
  override write(chunk: any, ...rest: any[]): boolean {
    this.writtenBytes += chunk.length
    return (super.write as (...parameters: unknown[]) => boolean)(chunk, ...rest)
  }
}
