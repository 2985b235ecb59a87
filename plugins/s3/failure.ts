/** From whatever was thrown to an S3 error answer. */
import { CatalogError, isCatalogError } from 'svc/kernel'
import { auditTagsOf } from 'svc/plugins/auth-sigv4/api'
import { objectErrors } from 'svc/plugins/objects/api'
import { ClientGoneError } from 'svc/plugins/payload/api'
import { sendDocument } from './answer.ts'
import { s3Errors } from './errors.ts'
import type { S3RequestContext } from './request.ts'
import { writeElement, xmlDeclaration } from './xml-writer.ts'

/** For what is decided before an action is known: strangers learn nothing about it. */
export function keepFromAnonymous(context: S3RequestContext): void {
  if (context.identity === undefined) throw s3Errors.AccessDenied()
}

/** Answers with an error, as far as an answer is still possible. Never throws. */
export function answerError(context: S3RequestContext, thrown: unknown): void {
  const { response } = context.exchange
  const error = toS3Error(context, thrown)
  context.errorCode = error.code
  context.tags = auditTagsOf(error) ?? denialTagsOf(context, error)
  if (response.headersSent || context.isClosed) {
    // The status is out: all that can still be said is that the answer is not whole.
    response.destroy()
    return
  }
  const headers: string[] = []
  for (const name in error.extra) if (isHeader(name)) headers.push(name, error.extra[name]!)
  if (context.method === 'HEAD' && context.level === 'bucket' && error.status === 403) {
    headers.push('x-amz-bucket-region', context.environment.region)
  }
  // No body says to HEAD what failed: clients of MinIO read it here.
  if (context.method === 'HEAD' && error.status >= 400) {
    headers.push(
      'x-minio-error-code',
      error.code,
      'x-minio-error-desc',
      `"${headerText(error.title ?? error.message)}"`,
    )
  }
  try {
    sendDocument(context, error.status, headers, errorDocument(context, error))
  } catch (err) {
    context.environment.log.error({ err, requestId: context.requestId }, 'an error could not be answered')
    response.destroy()
  }
}

/** Whoever is refused is not told by which rule; the audit record is. */
function denialTagsOf({ refused, environment }: S3RequestContext, { code }: CatalogError) {
  return code === 'AccessDenied' && refused !== undefined ? environment.policy.denialTags(refused) : undefined
}

/** The document alone, with its declaration; `Detail` is an element of ours, because clients compare AWS's words. Also the end of an answer whose status has long been sent. */
export function errorDocument(context: S3RequestContext, error: CatalogError): string {
  const fields: Record<string, string> = { Code: error.code, Message: error.title ?? error.message }
  if (error.title !== undefined) fields.Detail = error.message
  for (const name in error.extra) if (!isHeader(name)) fields[name] = error.extra[name]!
  fields.Resource = resource(context)
  fields.RequestId = context.requestId
  fields.HostId = context.environment.hostId
  return xmlDeclaration + writeElement('Error', fields)
}

/** Facts in lower case are headers of the answer (`allow`, `retry-after`), others elements of the document. */
function isHeader(name: string): boolean {
  const first = name.charCodeAt(0)
  return first >= 0x61 && first <= 0x7a
}

/** A header holds printable ASCII alone. */
function headerText(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?')
}

function resource(context: S3RequestContext): string {
  if (context.level === 'service') return '/'
  return context.level === 'bucket' ? `/${context.bucket}` : `/${context.bucket}/${context.key}`
}

/** Codes of S3 pass; others are mapped by what they mean; everything else is a defect that is logged and not told. */
export function toS3Error(context: S3RequestContext, thrown: unknown): CatalogError {
  if (isCatalogError(thrown)) {
    if (/^[A-Z]/.test(thrown.code)) return hidden(context, thrown)
    if (thrown.code === 'bucket_not_found')
      return objectErrors.NoSuchBucket(undefined, { cause: thrown, extra: thrown.extra })
    if (thrown.status === 507) return objectErrors.InsufficientStorage(undefined, { cause: thrown })
    // `gone`: the object was replaced while it was read. The client's next try reads the new one.
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
  return s3Errors.InternalError(isCatalogError(thrown) ? hopeless[thrown.code] : undefined)
}

/** What trying again does not mend. */
const hopeless: Readonly<Record<string, string>> = {
  corrupt:
    'The stored bytes are damaged and cannot be read. Trying again does not help; the operator has to look at the drives.',
  kms_open_failed:
    'The key that this was encrypted with does not open. Trying again does not help; the operator has to look at the key management.',
}

/**
 * What helps the client: before somebody has done something about a missing key or drives no retry does. How many drives there are is
 * not for strangers, and where they are is for nobody.
 */
function publicReason(context: S3RequestContext, { code, message }: CatalogError): string | undefined {
  if (code === 'kms_unavailable') return message
  return code === 'unavailable' && context.identity !== undefined && !message.includes('/') ? message : undefined
}

/**
 * Who may not list a bucket does not learn which keys are missing from it, by whatever operation. `BucketName` is that of another one,
 * that of a copy's source. Source: AWS S3 API reference, GetObject, "Permissions".
 */
function hidden(context: S3RequestContext, error: CatalogError): CatalogError {
  if (error.code !== 'NoSuchKey' || context.level !== 'object') return error
  const bucket = error.extra?.BucketName ?? context.bucket
  return context.may('s3:ListBucket', bucket, '') ? error : s3Errors.AccessDenied()
}
