/** The body of an operation that takes a document: read as a whole within its bound, and verified. */
import { hash } from 'node:crypto'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import { type Body, objectErrors } from 'svc/plugins/objects/api'

/** At most `bytesMax`; for a longer body, throws the result of `tooLong` for the known number of bytes. */
export async function readDocument(
  body: Body,
  bytesMax: number,
  tooLong: (sizeBytes: number) => Error,
  checksums: ChecksumsService,
): Promise<Buffer> {
  if (body.sizeBytes !== undefined && body.sizeBytes > bytesMax) throw tooLong(body.sizeBytes)
  const chunks: Buffer[] = []
  let sizeBytes = 0
  await body.consume(chunk => {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) throw tooLong(sizeBytes)
    chunks.push(Buffer.from(chunk))
  })
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  verify(body, bytes, checksums)
  return bytes
}

function verify(body: Body, bytes: Buffer, checksums: ChecksumsService): void {
  const { md5, checksum } = body.expectedDigests()
  if (md5 !== undefined && !hash('md5', bytes, 'buffer').equals(md5)) {
    throw objectErrors.BadDigest('The Content-MD5 you specified did not match what we received.')
  }
  if (checksum === undefined) return
  const computed = checksums.create(checksum.algorithm)
  computed.update(bytes)
  if (!computed.digest().equals(checksum.value)) {
    throw objectErrors.BadDigest(`The ${checksum.algorithm} you specified did not match the calculated checksum.`)
  }
}
