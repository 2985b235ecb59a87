/** Requests to another AWS service on the same listener: see `S3QueryApi`. Their errors have their own form and codes. */
import type { IncomingHttpHeaders } from 'node:http'
import { CatalogError, isCatalogError } from 'svc/kernel'
import { auditTagsOf } from 'svc/plugins/auth-sigv4/api'
import type { Authentication } from 'svc/plugins/iam/api'
import { ClientGoneError, RequestBody } from 'svc/plugins/payload/api'
import { sendDocument } from './answer.ts'
import type { S3QueryApi } from './api.ts'
import { readDocument } from './document-body.ts'
import type { S3RequestContext } from './request.ts'
import { requireRootAccess } from './root-access.ts'
import type { Target } from './target.ts'
import { writeElement, xmlDeclaration } from './xml-writer.ts'

const formBytesMax = 64 * 1024
/** Maximum number of parameters of a form. */
const parametersMax = 100

/** Whether the request is such a form, and a loaded plugin accepts it. */
export function isQueryApiForm({ method, level, headers, environment }: S3RequestContext): boolean {
  return method === 'POST' && level === 'service' && environment.queryApi !== undefined && isForm(headers)
}

function isForm(headers: IncomingHttpHeaders): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')
}

/** Also sends the answers for errors of the client, so it does not reject for them. */
export async function serveQueryApi(context: S3RequestContext, target: Target): Promise<void> {
  const { requestId } = context
  const api = context.environment.queryApi!
  try {
    const form = await readForm(context)
    context.authentication = await authenticate(context, target, api, form)
    const parameters = parseForm(form.toString())
    const { identity } = context
    await requireRootAccess(context.environment.isRootDenied, identity)
    if (identity === undefined) throw failure('MissingAuthenticationToken', 403, 'The request is not signed.')
    const name = parameters.get('Action') ?? ''
    const action = api.actions.get(name)
    if (action === undefined) throw failure('InvalidAction', 400, 'The action is not one of this server.')
    if (parameters.get('Version') !== api.version) {
      throw failure('InvalidAction', 400, `The version of the API is ${api.version}.`)
    }
    context.operation = name
    parameters.delete('Action')
    parameters.delete('Version')
    const result = await action({ identity, parameters })
    send(context, 200, [], api, `${name}Response`, {
      [`${name}Result`]: result,
      ResponseMetadata: { RequestId: requestId },
    })
  } catch (thrown) {
    if (thrown instanceof ClientGoneError) throw thrown
    const { code, status, message, title } = queryError(context, thrown)
    context.errorCode = code
    context.tags = auditTagsOf(thrown)
    const Type = status < 500 ? 'Sender' : 'Receiver'
    const retryAfter = isCatalogError(thrown) ? thrown.extra?.['retry-after'] : undefined
    const headers = retryAfter === undefined ? [] : ['retry-after', retryAfter]
    send(context, status, headers, api, 'ErrorResponse', {
      Error: { Type, Code: code, Message: title ?? message, Detail: title && message },
      RequestId: requestId,
    })
  }
}

function send(
  context: S3RequestContext,
  status: number,
  headers: readonly string[],
  { namespace }: S3QueryApi,
  root: string,
  content: Parameters<typeof writeElement>[1],
): void {
  sendDocument(context, status, headers, xmlDeclaration + writeElement(`${root} xmlns="${namespace}"`, content))
}

function readForm(context: S3RequestContext): Promise<Buffer> {
  const { checksums } = context.environment
  const length = Number(context.headers['content-length'] ?? Number.NaN)
  const body = new RequestBody(
    context.exchange,
    checksums,
    {
      sizeBytes: Number.isNaN(length) ? undefined : length,
      md5: undefined,
      checksum: undefined,
      trailer: undefined,
      algorithm: undefined,
    },
    undefined,
  )
  const tooLong = () => failure('ValidationError', 400, `The form has more than ${formBytesMax} bytes.`)
  return readDocument(body, formBytesMax, tooLong, checksums)
}

async function authenticate(
  context: S3RequestContext,
  { rawPath, rawQuery }: Target,
  { service }: S3QueryApi,
  form: Buffer,
): Promise<Authentication> {
  const { exchange, method, host, secure, headers, environment } = context
  const { rawHeaders } = exchange.request
  return environment.iam.authenticateDocument(
    { api: 's3', method, rawPath, rawQuery, headers, rawHeaders, host, secure },
    { service, document: form },
    exchange.clientAddress,
  )
}

/** A repeated parameter is ambiguous and refused. */
function parseForm(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (parameters.has(name)) throw failure('ValidationError', 400, 'A parameter is given twice.')
    if (parameters.size === parametersMax) throw failure('ValidationError', 400, 'There are too many parameters.')
    parameters.set(name, value)
  }
  return parameters
}

function failure(code: string, status: number, message: string): CatalogError {
  return new CatalogError(code, status, message)
}

/** Error codes of S3 about credentials, each with the code of all other AWS services. */
const codes: ReadonlyMap<string, readonly [string, number]> = new Map([
  ['InvalidAccessKeyId', ['InvalidClientTokenId', 403]],
  ['InvalidToken', ['InvalidClientTokenId', 403]],
  ['ExpiredToken', ['ExpiredToken', 403]],
  ['AuthorizationHeaderMalformed', ['IncompleteSignature', 400]],
  ['RequestTimeTooSkewed', ['RequestExpired', 400]],
  ['InvalidArgument', ['ValidationError', 400]],
  ['InvalidRequest', ['IncompleteSignature', 400]],
  ['invalid_argument', ['ValidationError', 400]],
  ['malformed_policy', ['MalformedPolicyDocument', 400]],
  ['access_denied', ['AccessDenied', 403]],
  ['busy', ['ServiceUnavailable', 503]],
])

function queryError(context: S3RequestContext, thrown: unknown): CatalogError {
  if (isCatalogError(thrown)) {
    const [code, status] = codes.get(thrown.code) ?? [thrown.code, thrown.status]
    if (/^[A-Z]/.test(code)) return failure(code, status, thrown.message)
  }
  const { log } = context.environment
  log.error({ err: thrown, requestId: context.requestId, operation: context.operation }, 'a request failed')
  return failure('InternalFailure', 500, 'We encountered an internal error. Please try again.')
}
