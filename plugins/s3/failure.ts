/** Converts thrown errors to S3 error answers. */
import { CatalogError, isCatalogError } from 'svc/kernel'
import { auditTagsOf } from 'svc/plugins/auth-sigv4/api'
import { objectErrors, whyHopeless } from 'svc/plugins/objects/api'
import { ClientGoneError } from 'svc/plugins/payload/api'
import { sendDocument } from './answer.ts'
import { s3Errors } from './errors.ts'
import type { S3RequestContext } from './request.ts'
import { writeElement, xmlDeclaration } from './xml-writer.ts'

/** For decisions before an action is known: anonymous callers learn nothing about it. */
export function keepFromAnonymous(context: S3RequestContext): void {
  if (context.identity === undefined) throw s3Errors.AccessDenied()
}

/** Sends an error answer, if that is still possible. Never throws. */
export function answerError(context: S3RequestContext, thrown: unknown): void {
  const { response } = context.exchange
  const error = toS3Error(context, thrown)
  context.errorCode = error.code
  // The audit record names the rule that denied the request; the answer does not.
  context.tags = auditTagsOf(error) ?? (error.code === 'AccessDenied' ? context.denialTags() : undefined)
  if (response.headersSent || context.isClosed) {
    // The status was already sent: the broken connection shows that the answer is incomplete.
    response.destroy()
    return
  }
  const headers: string[] = []
  for (const name in error.extra) if (isHeader(name)) headers.push(name, error.extra[name]!)
  if (context.method === 'HEAD' && context.level === 'bucket' && error.status === 403) {
    headers.push('x-amz-bucket-region', context.environment.region)
  }
  // An answer to HEAD has no body with the error: clients of MinIO read it from these headers.
  if (context.method === 'HEAD' && error.status >= 400) {
    headers.push(
      'x-minio-error-code',
      error.code,
      'x-minio-error-desc',
      `"${headerText(error.title ?? error.message)}"`,
    )
  }
  try {
    const page = errorPage(context, error)
    if (page === undefined) sendDocument(context, error.status, headers, errorDocument(context, error))
    else sendDocument(context, error.status, [...headers, ...pageHeaders], page, 'text/html; charset=utf-8')
  } catch (err) {
    context.environment.log.error({ err, requestId: context.requestId }, 'an error could not be answered')
    response.destroy()
  }
}

/** Runs nothing and loads nothing; the next attempt may work, and other clients get the document. */
const pageHeaders = [
  ...['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"],
  ...['Cache-Control', 'no-store', 'Vary', 'Accept'],
]

function errorPage({ environment, exchange, method, headers, requestId }: S3RequestContext, error: CatalogError) {
  const { status, code } = error
  return environment.errorPage?.({ method, url: exchange.request.url!, headers, status, code, requestId })
}

/**
 * The document with its XML declaration. `Detail` is an element of our own, because clients compare AWS's texts. Also used as the end of an
 * answer whose status was sent long before.
 */
export function errorDocument(context: S3RequestContext, error: CatalogError): string {
  const fields: Record<string, string> = { Code: error.code, Message: error.title ?? error.message }
  if (error.title !== undefined) fields.Detail = error.message
  for (const name in error.extra) if (!isHeader(name)) fields[name] = error.extra[name]!
  fields.Resource = resource(context)
  fields.RequestId = context.requestId
  fields.HostId = context.environment.hostId
  return xmlDeclaration + writeElement('Error', fields)
}

/** Names in lower case are headers of the answer (`allow`, `retry-after`), others elements of the document. */
function isHeader(name: string): boolean {
  const first = name.charCodeAt(0)
  return first >= 0x61 && first <= 0x7a
}

/** A header may contain printable ASCII only. */
function headerText(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?')
}

function resource(context: S3RequestContext): string {
  if (context.level === 'service') return '/'
  return context.level === 'bucket' ? `/${context.bucket}` : `/${context.bucket}/${context.key}`
}

/** S3 codes are kept; other catalogue errors are mapped by their meaning. Any other error is a defect, which is logged and not revealed. */
export function toS3Error(context: S3RequestContext, thrown: unknown): CatalogError {
  if (isCatalogError(thrown)) {
    if (/^[A-Z]/.test(thrown.code)) return hidden(context, thrown)
    if (thrown.code === 'bucket_not_found')
      return objectErrors.NoSuchBucket(undefined, { cause: thrown, extra: thrown.extra })
    if (thrown.status === 507) return objectErrors.InsufficientStorage(undefined, { cause: thrown })
    // `gone`: the object was replaced during the read. The client's next attempt reads the new one.
    if (thrown.status === 503 || thrown.code === 'gone') {
      return s3Errors.ServiceUnavailable(publicReason(context, thrown), {
        cause: thrown,
        extra: { 'retry-after': '1' },
      })
    }
  }
  if (thrown instanceof ClientGoneError) return new CatalogError('RequestAborted', 499, thrown.message)
  const { log } = context.environment
  log.error({ err: thrown, requestId: context.requestId, operation: context.operation }, 'a request failed')
  return s3Errors.InternalError(whyHopeless(thrown))
}

/**
 * Information that helps the client: no retry succeeds before the operator has repaired a missing key or drive. The number of drives is not
 * revealed to anonymous callers, and their places to nobody.
 */
function publicReason(context: S3RequestContext, { code, message }: CatalogError): string | undefined {
  if (code === 'kms_unavailable') return message
  return code === 'unavailable' && context.identity !== undefined && !message.includes('/') ? message : undefined
}

/**
 * A caller who may not list a bucket must not learn which keys are missing, by any operation. `BucketName` is another bucket, that of a
 * copy's source. Source: AWS S3 API reference, GetObject, "Permissions".
 */
function hidden(context: S3RequestContext, error: CatalogError): CatalogError {
  if (error.code !== 'NoSuchKey' || context.level !== 'object') return error
  const bucket = error.extra?.BucketName ?? context.bucket
  return context.may('s3:ListBucket', bucket, '') ? error : s3Errors.AccessDenied()
}
