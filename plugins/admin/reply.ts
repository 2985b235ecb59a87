import type { Identity } from 'svc/plugins/iam/api'
import type { ObjectData } from 'svc/plugins/objects/api'

export interface ReplyOptions {
  /** Instead of the status that the declaration gives. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Without quotes, where the body has no field `etag`. */
  readonly etag?: string
  /** Who the caller turned out to be: for audit and trace of a login. */
  readonly identity?: Identity
}

/** A body together with what else the answer shall say. */
export class AdminReply<Body> {
  readonly body: Body
  readonly options: ReplyOptions

  constructor(body: Body, options: ReplyOptions) {
    this.body = body
    this.options = options
  }
}

/** For handlers whose answer is more than its body: `replyWith(document, { status: 201 })`. */
export function replyWith<Body>(body: Body, options: ReplyOptions): AdminReply<Body> {
  return new AdminReply(body, options)
}

export interface BytesOptions {
  /** Default 200. */
  readonly status?: number
  /** They replace those that every answer has. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Undefined: the answer has no body. */
  readonly data: ObjectData | undefined
  /** Of all of `data`. Undefined where nobody knows before: what ends early then breaks the connection all the same. */
  readonly sizeBytes?: number
}

/** An answer that is no JSON. */
export class AdminBytes {
  readonly options: BytesOptions

  constructor(options: BytesOptions) {
    this.options = options
  }
}

/** For handlers of operations that declare `bytes`. A stream is closed by the dispatcher, whatever happens. */
export function replyWithBytes(options: BytesOptions): AdminBytes {
  return new AdminBytes(options)
}
