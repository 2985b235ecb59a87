import type { Identity } from 'svc/plugins/iam/api'
import type { ObjectData } from 'svc/plugins/objects/api'

export interface ReplyOptions {
  /** Replaces the declared status. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Without quotes, if the body has no field `etag`. */
  readonly etag?: string
  /** The identity of the caller after a login, for audit and trace. */
  readonly identity?: Identity
}

/** A body with further parts of the answer. */
export class AdminReply<Body> {
  readonly body: Body
  readonly options: ReplyOptions

  constructor(body: Body, options: ReplyOptions) {
    this.body = body
    this.options = options
  }
}

/** For handlers whose answer has more than a body: `replyWith(document, { status: 201 })`. */
export function replyWith<Body>(body: Body, options: ReplyOptions): AdminReply<Body> {
  return new AdminReply(body, options)
}

export interface BytesOptions {
  /** Default 200. */
  readonly status?: number
  /** They replace the headers that every answer has. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Undefined: the answer has no body. */
  readonly data: ObjectData | undefined
  /** Bytes of `data` as a whole. Undefined if not known in advance; a source that ends early breaks the connection in any case. */
  readonly sizeBytes?: number
}

/** An answer that is not JSON. */
export class AdminBytes {
  readonly options: BytesOptions

  constructor(options: BytesOptions) {
    this.options = options
  }
}

/** For handlers of operations that declare `bytes`. The dispatcher closes the stream in any case. */
export function replyWithBytes(options: BytesOptions): AdminBytes {
  return new AdminBytes(options)
}
