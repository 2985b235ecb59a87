/** The body of an operation that takes XML: read, verified, parsed. */
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import { objectErrors } from 'svc/plugins/objects/api'
import type { RequestBody } from 'svc/plugins/payload/api'
import type { BodyKind, XmlNode } from './api.ts'
import { readDocument } from './document-body.ts'
import { s3Errors } from './errors.ts'
import { requireShape } from './xml-nodes.ts'
import { readXml } from './xml-reader.ts'

/** Far above the number of elements of bucket configurations without a bound of their own. */
const elementsMaxDefault = 4000

type XmlBody = Extract<BodyKind, { kind: 'xml' }>

/** Undefined for an empty body, if the operation allows one. */
export async function readXmlBody(
  body: RequestBody,
  kind: XmlBody,
  checksums: ChecksumsService,
): Promise<XmlNode | undefined> {
  const bytes = await readDocument(body, kind.maxBytes, () => tooBig(kind), checksums)
  if (kind.checksumRequired) requireChecksum(body)
  if (bytes.length === 0) {
    if (kind.optional) return undefined
    throw s3Errors.MissingRequestBodyError()
  }
  const xml = readXml(bytes, kind.root, kind.elementsMax ?? elementsMaxDefault)
  if (kind.elements !== undefined) requireShape(xml, kind.elements)
  return xml
}

function requireChecksum(body: RequestBody): void {
  const { md5, checksum } = body.expectedDigests()
  if (md5 !== undefined || checksum !== undefined) return
  throw objectErrors.InvalidRequest('Missing required header for this request: Content-MD5 OR x-amz-checksum-*')
}

function tooBig(kind: XmlBody) {
  return s3Errors.MaxMessageLengthExceeded(undefined, { extra: { MaxMessageLengthBytes: String(kind.maxBytes) } })
}
