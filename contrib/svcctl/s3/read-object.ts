/** GetObject as a sequence of chunks that survives broken connections: it goes on where it stopped, of the same content. */
import { ConnectionError, failure } from '../errors.ts'
import type { S3Client } from './client.ts'
import type { AnswerHeaders, BodySink, RoomSink } from './messages.ts'
import { type ObjectFacts, type ObjectName, readFacts, versionQuery } from './object.ts'

interface ReadOptions {
  readonly name: ObjectName
  /** Inclusive. Default: everything. */
  readonly range?: { readonly start: number; readonly end: number }
  /** The content must have this ETag (412 otherwise). Without it the first answer decides. */
  readonly etag?: string
  readonly signal?: AbortSignal
  /** Once, before the first byte. */
  start?(facts: ObjectFacts): void
}

/** Chunks are passed on, or written where there is room for them. */
export type ReadRequest = ReadOptions & (Pick<BodySink, 'data'> | Pick<RoomSink, 'room' | 'filled'>)

/** Attempts that brought nothing, one after the other. */
const vainAttemptCountMax = 5

export async function readObject(client: S3Client, request: ReadRequest): Promise<void> {
  const { name, range, signal } = request
  const start = range?.start ?? 0
  let at = start
  let end = range?.end
  let etag = request.etag
  let hasStarted = false
  let isRanged = false
  const begin = (headers: AnswerHeaders) => {
    if (isRanged) requireRange(headers, at)
    if (hasStarted) return
    hasStarted = true
    const facts = readFacts(headers)
    end ??= facts.sizeBytes - 1
    etag ??= facts.etag
    request.start?.(facts)
  }
  const sink: BodySink | RoomSink =
    'data' in request
      ? {
          start: begin,
          data(chunk) {
            at += chunk.length
            return request.data(chunk)
          },
        }
      : {
          start: begin,
          room: () => request.room(),
          filled(byteCount) {
            at += byteCount
            return request.filled(byteCount)
          },
        }
  for (let vainCount = 0; ; ) {
    isRanged = range !== undefined || at > start
    const before = at
    try {
      await client.send({
        operation: 'GetObject',
        method: 'GET',
        bucket: name.bucket,
        key: name.key,
        query: versionQuery(name),
        headers: {
          ...(isRanged ? { range: `bytes=${at}-${end ?? ''}` } : { 'x-amz-checksum-mode': 'ENABLED' }),
          ...name.customerKey?.headers,
          ...(etag === undefined ? undefined : { 'if-match': `"${etag}"` }),
        },
        signal,
        sink,
      })
      if (at === end! + 1) return
      throw new ConnectionError(
        'truncated',
        `GetObject ${name.bucket}/${name.key}: the answer is shorter than its stated length.`,
      )
    } catch (error) {
      if (!(error instanceof ConnectionError) || at > (end ?? Number.POSITIVE_INFINITY) + 1) throw error
      vainCount = at > before ? 0 : vainCount + 1
      if (vainCount === vainAttemptCountMax) throw error
      if (end !== undefined && at === end + 1) return
    }
  }
}

function requireRange(headers: AnswerHeaders, at: number): void {
  if (headers['content-range']?.startsWith(`bytes ${at}-`)) return
  throw failure('bad_answer', 'The server does not answer the range that was asked for.')
}
