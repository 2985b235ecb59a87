/** Which form of an object an answer has: as it is stored, or compressed. A request with a range gets the stored form. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ObjectData } from 'svc/plugins/objects/api'
import { type Coding, chooseCoding, codedBytesMin, isCompressible } from 'svc/plugins/payload/api'
import type { AnswerHeaders } from './response-headers.ts'

/** Maximum without a cache: each request compresses anew, so a large body would cost more than it saves. */
export const compressedBytesMax = 1024 * 1024

/** Whether answers with these headers depend on `Accept-Encoding`. */
export function isCodable(headers: AnswerHeaders): boolean {
  return (
    headers.get('Content-Encoding') === undefined &&
    isCompressible(headers.get('Content-Type') ?? '') &&
    !/\bno-transform\b/i.test(headers.get('Cache-Control') ?? '')
  )
}

/** `varies`: `isCodable`. */
export function codingFor(asked: IncomingHttpHeaders, varies: boolean, sizeBytes: number): Coding | undefined {
  const isFit = varies && asked.range === undefined && sizeBytes >= codedBytesMin && sizeBytes <= compressedBytesMax
  return isFit ? chooseCoding(asked['accept-encoding'] as string | undefined) : undefined
}

/** All bytes of at most `compressedBytesMax`. */
export async function collect(data: ObjectData): Promise<Buffer> {
  if (data.kind === 'whole') return data.bytes
  const parts: Buffer[] = []
  try {
    for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
      // A chunk's memory is used again after its release.
      parts.push(Buffer.from(chunk.bytes))
      chunk.release()
    }
  } finally {
    data.close()
  }
  return Buffer.concat(parts)
}
