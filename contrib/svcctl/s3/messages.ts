/** Requests and answers of HTTP, and the sinks of their bodies. */
import { failure } from '../errors.ts'

/** Documents: 1000 keys of 1024 bytes, each escaped threefold, with their frames. */
export const gatheredBytesMax = 16 << 20

/** Takes the body of a good answer. */
export interface BodySink {
  /** Before the first byte. A throw ends the request. */
  start?(headers: AnswerHeaders): void
  data(chunk: Buffer): void | Promise<void>
}

/** Writes the bytes into its own memory, so that the body of a GET is not copied. */
export interface RoomSink {
  start?(headers: AnswerHeaders): void
  /** The memory for the next bytes; empty if none should come. Not called while `filled` works. */
  room(): Buffer
  /** So many bytes are there, at the beginning of the room. */
  filled(byteCount: number): void | Promise<void>
}

/** Copies a chunk into the room of a sink. */
export function pour(sink: RoomSink, chunk: Buffer): void | Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const copied = chunk.copy(sink.room(), 0, at)
    if (copied === 0) throw failure('bad_answer', 'The server sends more than it was asked for.')
    at += copied
    const taken = sink.filled(copied)
    if (taken === undefined) continue
    if (at === chunk.length) return taken
    // The chunk is the caller's again before the sink is done.
    const rest = Buffer.from(chunk.subarray(at))
    return taken.then(() => pour(sink, rest))
  }
}

export type AnswerHeaders = Readonly<Record<string, string>>

export interface HttpRequest {
  readonly method: string
  /** Path and query as they go over the wire. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Called with the number of bytes that the socket has accepted. */
  readonly onSent?: (byteCount: number) => void
  /** Receives the body of a 2xx answer. Other bodies, and all without a sink, are gathered. */
  readonly sink?: BodySink | RoomSink
  readonly signal?: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: AnswerHeaders
  /** Empty where a sink had it. */
  readonly body: Buffer
}
