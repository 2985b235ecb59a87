/**
 * The way of every S3 request: target, authentication, operation, authorization, body, handler, answer. As long as nothing
 * has to be waited for, no promise is made: a small GET is answered in the turn in which it arrived.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { RawHandler } from 'svc/plugins/http/api'
import { objectErrors } from 'svc/plugins/objects/api'
import type { MaybePromise } from 'svc/plugins/storage/api'
import { refuseAcl } from './acl.ts'
import { answer } from './answer.ts'
import type { S3Operation, S3Result } from './api.ts'
import { checkBucketOwner } from './bucket-owner.ts'
import { s3Errors } from './errors.ts'
import { answerError, keepFromAnonymous } from './failure.ts'
import { type S3Environment, S3RequestContext } from './request.ts'
import { createSlowAnswer } from './slow-answer.ts'
import { parseTarget } from './target.ts'
import { looksLikeSubresource, unloadedFeature, unloadedPlain, unloadedSubresource } from './unloaded.ts'
import { readXmlBody } from './xml-body.ts'

export function createS3Handler(environment: S3Environment): RawHandler {
  return exchange => {
    const context = new S3RequestContext(exchange, environment)
    const { response } = exchange
    // `close` comes once, after the last byte was handed over or after the client went away.
    response.on('close', () => {
      context.isClosed = true
      if (!response.writableFinished) context.errorCode ??= 'RequestAborted'
      observe(context, response.writableFinished ? response.statusCode : 499)
    })
    try {
      const pending = serve(context)
      if (pending !== undefined) pending.catch((error: unknown) => answerError(context, error))
    } catch (error) {
      answerError(context, error)
    }
  }
}

function observe(context: S3RequestContext, status: number): void {
  const { observers, log } = context.environment
  if (observers.length === 0) return
  const record = context.record(status)
  for (const observer of observers) {
    try {
      observer(record)
    } catch (err) {
      // An observer that fails must not keep the others from the record; its defect is logged.
      log.error({ err, requestId: context.requestId }, 'an observer of S3 requests failed')
    }
  }
}

function serve(context: S3RequestContext): MaybePromise<void> {
  const { exchange, environment } = context
  if (exchange.draining) {
    throw s3Errors.ServiceUnavailable('The server is stopping. Please retry.', { extra: { 'retry-after': '1' } })
  }
  const { request } = exchange
  const target = parseTarget(request.url!, context.host, environment.target)
  context.setTarget(target)
  const authentication = environment.authSigv4.authenticate({
    method: context.method,
    rawPath: target.rawPath,
    rawQuery: target.rawQuery,
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    host: context.host,
  })
  context.authentication = authentication
  if (authentication.method === 'presigned') context.headers = withQueryHeaders(context.headers, context.query)

  const { method, level, headers, query } = context
  const operation = environment.table.find(level, method, query, headers)
  const stray = query.size === 0 ? undefined : strayParameter(context, operation)
  if (operation === undefined || stray !== undefined) return refuseOperation(context, operation, stray)
  context.operation = operation.name
  authorize(context, operation)
  refuseUnbuiltHeaders(context, operation)
  const expectedOwner = headers['x-amz-expected-bucket-owner'] as string | undefined
  if (expectedOwner === undefined) return readAndRun(context, operation)
  return checkExpectedOwner(context, operation, expectedOwner)
}

function authorize(context: S3RequestContext, operation: S3Operation): void {
  const { query } = context
  let { action } = operation
  if (query.size > 0 && context.level === 'object') {
    const versionId = query.get('versionId')
    if (versionId !== undefined) {
      if (operation.versionedAction === undefined) {
        throw objectErrors.InvalidArgument('This operation does not accept a version-id.', {
          extra: { ArgumentName: 'versionId', ArgumentValue: versionId },
        })
      }
      if (versionId === '') throw objectErrors.InvalidArgument('Version id cannot be the empty string')
      action = operation.versionedAction
    }
  }
  if (action === undefined) return
  if (operation.authorization === 'items') keepFromAnonymous(context)
  else if (!context.may(action, context.bucket, context.key)) throw s3Errors.AccessDenied()
}

function checkExpectedOwner(context: S3RequestContext, operation: S3Operation, expected: string): MaybePromise<void> {
  const { iam, objects } = context.environment
  if (context.level === 'service' || operation.name === 'CreateBucket') {
    if (iam.owner.ownerId !== expected) throw s3Errors.AccessDenied()
    return readAndRun(context, operation)
  }
  const checked = checkBucketOwner(expected, () => objects.getBucket(context.bucket))
  return checked === undefined ? readAndRun(context, operation) : checked.then(() => readAndRun(context, operation))
}

function readAndRun(context: S3RequestContext, operation: S3Operation): MaybePromise<void> {
  const { body: kind } = operation
  if (kind.kind === 'none') return run(context, operation)
  const { headers } = context
  const body = context.openBody(kind)
  if (kind.kind === 'stream') {
    if (body.sizeBytes === undefined) throw s3Errors.MissingContentLength()
    return run(context, operation)
  }
  if (body.sizeBytes === undefined && headers['transfer-encoding'] === undefined && !context.hasUnreadBody) {
    if (!kind.optional) throw s3Errors.MissingRequestBodyError()
    return run(context, operation)
  }
  return readXmlBody(body, kind, context.environment.checksums).then(xml => {
    context.xml = xml
    return run(context, operation)
  })
}

function run(context: S3RequestContext, operation: S3Operation): MaybePromise<void> {
  const result: MaybePromise<S3Result> = operation.handle(context)
  if (!(result instanceof Promise)) return answer(context, operation, result)
  if (operation.isSlow) return createSlowAnswer(context, operation, result)
  return result.then(value => answer(context, operation, value))
}

/**
 * A parameter that means another operation than the one found. A sub-resource must never be dropped: PUT with `?acl` is not
 * an upload that happens to have a parameter.
 */
function strayParameter(context: S3RequestContext, operation: S3Operation | undefined): string | undefined {
  const { level, method, query } = context
  const { table } = context.environment
  for (const [name, value] of query) {
    if (operation !== undefined && takes(operation, name)) continue
    if (
      table.selecting(level, name) !== undefined ||
      unloadedSubresource(level, method, name) !== undefined ||
      looksLikeSubresource(name, value)
    ) {
      return name
    }
  }
  return undefined
}

function takes(operation: S3Operation, parameter: string): boolean {
  if (operation.parameters?.includes(parameter)) return true
  const selecting = operation.match.query
  if (selecting === undefined) return false
  for (const constraint of selecting) {
    if (constraint === parameter || (constraint.startsWith(parameter) && constraint[parameter.length] === '='))
      return true
  }
  return false
}

/** Says as exactly as possible why there is no operation for a request, and never that it was done. */
function refuseOperation(
  context: S3RequestContext,
  operation: S3Operation | undefined,
  stray: string | undefined,
): MaybePromise<void> {
  const { level, method, query, headers, environment } = context
  if (stray !== undefined && operation?.match.query !== undefined) {
    keepFromAnonymous(context)
    throw objectErrors.InvalidArgument(
      `Conflicting query string parameters: ${operation.match.query.join(', ')}, ${stray}`,
      { extra: { ArgumentName: 'ResourceType', ArgumentValue: stray } },
    )
  }
  const selecting = stray === undefined ? undefined : environment.table.selecting(level, stray)
  if (stray !== undefined && selecting !== undefined) {
    keepFromAnonymous(context)
    if (selecting.has(method)) {
      throw objectErrors.InvalidArgument(`The parameter ${stray} needs others beside it.`, {
        extra: { ArgumentName: stray, ArgumentValue: query.get(stray)! },
      })
    }
    throw notAllowed(context, [...selecting].sort())
  }
  const unloaded = stray === undefined ? unloadedPlain(level, method) : unloadedSubresource(level, method, stray)
  if (stray === undefined && unloaded === undefined) {
    keepFromAnonymous(context)
    throw notAllowed(context, environment.table.methods(level, query, headers))
  }
  context.operation = unloaded?.operation ?? 'Unknown'
  if (!context.may(`s3:${context.operation}`, context.bucket, context.key)) throw s3Errors.AccessDenied()
  const refuse = (): never => {
    if (unloaded === undefined) {
      throw s3Errors.NotImplemented(`The sub-resource "${stray}" is not known to this server.`, {
        extra: { Parameter: stray! },
      })
    }
    throw s3Errors.NotImplemented(
      `${unloaded.operation} is not implemented here: it would come with the plugin "${unloaded.plugin}", which is not loaded.`,
      { extra: { Plugin: unloaded.plugin } },
    )
  }
  if (level === 'service') return refuse()
  const bucket = environment.objects.getBucket(context.bucket)
  return bucket instanceof Promise ? bucket.then(refuse) : refuse()
}

function notAllowed(context: S3RequestContext, methods: readonly string[]) {
  return objectErrors.MethodNotAllowed(undefined, {
    extra: {
      Method: context.method,
      ResourceType: context.level.toUpperCase(),
      allow: methods.join(', '),
    },
  })
}

/** Headers that ask for what no loaded plugin does: answered, never ignored. */
function refuseUnbuiltHeaders(context: S3RequestContext, operation: S3Operation): void {
  const { headers, method, level } = context
  const { features } = operation
  if (method === 'GET' || method === 'HEAD') {
    const name = 'x-amz-server-side-encryption-customer-algorithm'
    if (level === 'object' && headers[name] !== undefined && !features?.includes(name)) {
      throw objectErrors.InvalidRequest(
        'The encryption parameters are not applicable to this object: no object is encrypted without the plugin "sse".',
      )
    }
    return
  }
  const unloaded = unloadedFeature(headers, features)
  if (unloaded !== undefined) {
    const { header, plugin } = unloaded
    throw s3Errors.NotImplemented(
      `The header ${header} asks for a feature of the plugin "${plugin}", which is not loaded.`,
      { extra: { Header: header, Plugin: plugin } },
    )
  }
  if (level !== 'service') refuseAcl(headers, level)
}

const signing = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-signature',
  'x-amz-signedheaders',
])

const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they could not be sent back as a header
const notInHeader = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** SDKs that presign put `x-amz-…` headers into the query; they mean the same there. A real header wins. */
function withQueryHeaders(headers: IncomingHttpHeaders, query: ReadonlyMap<string, string>): IncomingHttpHeaders {
  let merged: IncomingHttpHeaders | undefined
  for (const [parameter, value] of query) {
    if (parameter.length < 6) continue
    const name = parameter.toLowerCase()
    if (!name.startsWith('x-amz-') || signing.has(name) || headers[name] !== undefined) continue
    if (!headerName.test(name) || notInHeader.test(value)) {
      throw objectErrors.InvalidArgument('A parameter that stands for a header holds what no header can hold.', {
        extra: { ArgumentName: parameter, ArgumentValue: value },
      })
    }
    merged ??= { ...headers }
    // As a header would have come: a character for each byte.
    merged[name] = Buffer.from(value, 'utf8').toString('latin1')
  }
  return merged ?? headers
}
