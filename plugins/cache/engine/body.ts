/** Bodies of origins: collected if they are small enough, otherwise passed on as streams. */
import type { OriginObject } from '../api.ts'

/** Bytes that all reads together hold until they are stored or passed on, and their limit. */
export interface Unfinished {
  bytes: number
  readonly bytesMax: number
}

type Body = AsyncIterable<Uint8Array>

/** The whole body if it has at most `bytesMax` bytes, and if there is room for it; otherwise the same body as a stream. */
export async function collect(
  body: Body | undefined,
  bytesMax: number,
  unfinished: Unfinished,
): Promise<Buffer | Body> {
  if (body === undefined) return Buffer.alloc(0)
  if (bytesMax === 0) return body
  const iterator = body[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { value, done } = await iterator.next()
      if (done === true) return Buffer.concat(chunks, bytes)
      chunks.push(value)
      bytes += value.length
      unfinished.bytes += value.length
      if (bytes > bytesMax || unfinished.bytes > unfinished.bytesMax) return resumed(chunks, iterator)
    }
  } finally {
    unfinished.bytes -= bytes
  }
}

async function* resumed(chunks: Uint8Array[], iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
    for (;;) {
      const { value, done } = await iterator.next()
      if (done === true) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

/** Closes a body that nobody needs. An object needs no closing: nothing is open before it is read. */
export async function drained(body: Buffer | Body | OriginObject | undefined): Promise<void> {
  if (body === undefined || Buffer.isBuffer(body) || 'sizeBytes' in body) return
  await body[Symbol.asyncIterator]().return?.()
}
