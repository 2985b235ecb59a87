/** The body of an operation as declared: opened for a stream, read and parsed for XML. */
import type { MaybePromise } from 'svc/kernel'
import type { RequestBody } from 'svc/plugins/payload/api'
import type { BodyKind, S3Operation } from './api.ts'
import { s3Errors } from './errors.ts'
import type { S3RequestContext } from './request.ts'
import { readXmlBody } from './xml-body.ts'

/**
 * Throws, or rejects, if the body is not as declared. A stream stays unread, and `100 Continue` is not sent, until the handler reads it.
 */
export function readBody(context: S3RequestContext, { body: kind }: S3Operation): MaybePromise<void> {
  if (kind.kind === 'none') return undefined
  const body = context.openBody(kind)
  if (kind.kind === 'xml') return readXml(context, body, kind)
  if (body.sizeBytes === undefined) throw s3Errors.MissingContentLength()
}

async function readXml(
  context: S3RequestContext,
  body: RequestBody,
  kind: Extract<BodyKind, { kind: 'xml' }>,
): Promise<void> {
  const isAbsent =
    body.sizeBytes === undefined && context.headers['transfer-encoding'] === undefined && !context.hasUnreadBody
  if (!isAbsent) context.xml = await readXmlBody(body, kind, context.environment.checksums)
  else if (!kind.optional) throw s3Errors.MissingRequestBodyError()
}
