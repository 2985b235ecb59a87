/** The body of an operation that takes a document: read whole within its bound, verified, parsed. */
import { hash } from 'node:crypto'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import { objectErrors } from 'svc/plugins/objects/api'
import type { BodyKind, XmlNode } from './api.ts'
import type { RequestBody } from './body.ts'
import { s3Errors } from './errors.ts'
import { readXml } from './xml-reader.ts'

type XmlBody = Extract<BodyKind, { kind: 'xml' }>

/** Undefined when the body is empty and may be. */
export async function readXmlBody(
  body: RequestBody,
  kind: XmlBody,
  checksums: ChecksumsService,
): Promise<XmlNode | undefined> {
  if (body.sizeBytes !== undefined && body.sizeBytes > kind.maxBytes) throw tooBig(kind)
  const chunks: Buffer[] = []
  let sizeBytes = 0
  await body.consume(chunk => {
    sizeBytes += chunk.length
    if (sizeBytes > kind.maxBytes) throw tooBig(kind)
    chunks.push(Buffer.from(chunk))
  })
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  verify(body, bytes, kind, checksums)
  if (bytes.length === 0) {
    if (kind.optional) return undefined
    throw s3Errors.MissingRequestBodyError()
  }
  return readXml(bytes, kind.root)
}

function verify(body: RequestBody, bytes: Buffer, kind: XmlBody, checksums: ChecksumsService): void {
  const { md5, checksum } = body.claims()
  if (md5 === undefined && checksum === undefined) {
    if (!kind.checksumRequired) return
    throw objectErrors.InvalidRequest('Missing required header for this request: Content-MD5 OR x-amz-checksum-*')
  }
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

function tooBig(kind: XmlBody) {
  return s3Errors.MaxMessageLengthExceeded(undefined, { extra: { MaxMessageLengthBytes: String(kind.maxBytes) } })
}
