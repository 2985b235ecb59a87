/** Writes answers of websites: a head as one list, then bytes at once or in chunks. */
import type { MaybePromise } from 'svc/kernel'
import type { Visit } from 'svc/plugins/distributions/api'
import { type HeaderBlock, writeBlock } from 'svc/plugins/http/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import { sendChunks } from 'svc/plugins/payload/api'
import type { AnswerHeaders } from './response-headers.ts'

const statusesWithoutBody: ReadonlySet<number> = new Set([204, 304])

export interface WebAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** Added as they are: `Vary`, CORS. */
  readonly more: readonly string[]
  readonly data: ObjectData | undefined
  /** Length of the body, also if HEAD leaves it out. Undefined if it is not known: a compressed body that is not made yet. */
  readonly sizeBytes: number | undefined
}

export function send(visit: Visit, answer: WebAnswer): MaybePromise<void> {
  const { exchange } = visit
  const { request, response } = exchange
  const { status, headers, more, data, sizeBytes } = answer
  const head = headers.list()
  if (more.length > 0) head.push(...more)
  const hasBody = !statusesWithoutBody.has(status)
  if (hasBody && sizeBytes !== undefined) head.push('Content-Length', String(sizeBytes))
  if (visit.rehearsal !== undefined) {
    if (data?.kind === 'stream') data.close()
    visit.rehearsal.onAnswer(status, head)
    return
  }
  // The body of the request is not read, and must not be taken for the next request.
  if (request.httpVersionMajor === 1 && hasRequestBody(visit)) head.push('Connection', 'close')
  if (data === undefined || !hasBody || request.method === 'HEAD') {
    if (data?.kind === 'stream') data.close()
    if (visit.isClosed) return
    response.writeHead(status, head)
    response.end()
    return
  }
  if (data.kind === 'whole') {
    if (visit.isClosed) return
    response.writeHead(status, head)
    visit.sentBytes += data.bytes.length
    response.end(data.bytes)
    return
  }
  return sendStream(visit, status, head, data, sizeBytes ?? 0)
}

/** Sends a whole body whose headers are ready. `more`: names and values in turn. */
export function sendReady(visit: Visit, block: HeaderBlock, more: string[], body: Buffer): void {
  if (visit.isClosed) return
  const { request, response } = visit.exchange
  if (request.httpVersionMajor === 1 && hasRequestBody(visit)) response.shouldKeepAlive = false
  writeBlock(response, 200, block, more, body.length)
  visit.sentBytes += body.length
  response.end(body)
}

function hasRequestBody({ exchange }: Visit): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = exchange.request.headers
  return (length !== undefined && length !== '0') || encoding !== undefined
}

/** The first chunk is read before the head is sent: if that fails, an error can still be answered. */
async function sendStream(
  visit: Visit,
  status: number,
  head: string[],
  data: Extract<ObjectData, { kind: 'stream' }>,
  sizeBytes: number,
): Promise<void> {
  const { response } = visit.exchange
  let first: Awaited<ReturnType<typeof data.next>>
  try {
    first = await data.next()
  } catch (error) {
    data.close()
    throw error
  }
  if (visit.isClosed) {
    first?.release()
    data.close()
    return
  }
  response.writeHead(status, head)
  await sendChunks(response, data, first, sizeBytes, bytes => {
    visit.sentBytes += bytes
  })
}
