/**
 * The way of every S3 request: target, authentication, operation, authorization, body, handler, answer. As long as nothing
 * has to be waited for, no promise is made: a small GET is answered in the turn in which it arrived.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { Authentication } from 'svc/plugins/auth-sigv4/api'
import type { RawHandler } from 'svc/plugins/http/api'
import { type Bucket, objectErrors } from 'svc/plugins/objects/api'
import { asHeaderValue } from 'svc/plugins/payload/api'
import type { AccessRequest } from 'svc/plugins/policy/api'
import { refuseAcl } from './acl.ts'
import { answer } from './answer.ts'
import type { S3Operation, S3Result } from './api.ts'
import { checkBucketOwner } from './bucket-owner.ts'
import { mayTell, readAction } from './conditions.ts'
import { s3Errors } from './errors.ts'
import { answerError, keepFromAnonymous } from './failure.ts'
import { type OtherSource, otherSourceOf } from './other-sources.ts'
import { isQueryApiForm, serveQueryApi } from './query-api.ts'
import { type S3Environment, S3RequestContext } from './request.ts'
import { bodyConditions } from './request-facts.ts'
import { requireRootAccess } from './root-access.ts'
import { createSlowAnswer } from './slow-answer.ts'
import { noParameters, parseTarget, type Target } from './target.ts'
import { looksLikeSubresource, refuseUnloadedFeature, unloadedPlain, unloadedSubresource } from './unloaded.ts'
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
      const entered = environment.requestLimit.enter(response)
      const pending = entered === undefined ? serve(context) : entered.then(() => serve(context))
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
  const { origin } = request.headers
  if (origin === undefined) return serveTarget(context, target)
  const pending = answerOrigin(context, origin)
  return pending === undefined ? serveTarget(context, target) : pending.then(() => serveTarget(context, target))
}

/** What answers to pages of other origins need. Asked for first, so that refusals have it, too. */
function answerOrigin(context: S3RequestContext, origin: string): MaybePromise<void> {
  let pending: Promise<void> | undefined
  const take = (headers: readonly string[] | undefined) => {
    if (headers !== undefined) context.answerHeaders = [...(context.answerHeaders ?? []), ...headers]
  }
  const { method, bucket } = context
  for (const ask of context.environment.originAnswers) {
    const headers = ask({ origin, method, bucket })
    if (!(headers instanceof Promise)) take(headers)
    else pending = Promise.all([pending, headers.then(take)]).then(() => undefined)
  }
  return pending
}

function serveTarget(context: S3RequestContext, target: Target): MaybePromise<void> {
  const { exchange, environment } = context
  const { request } = exchange
  if (context.method === 'OPTIONS') return servePreflight(context)
  const { queryApi } = environment
  if (queryApi !== undefined && isQueryApiForm(context)) return serveQueryApi(context, target, queryApi)
  const authentication = environment.authSigv4.authenticate({
    method: context.method,
    rawPath: target.rawPath,
    rawQuery: target.rawQuery,
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    host: context.host,
  })
  return authentication instanceof Promise
    ? authentication.then(serveAuthenticated.bind(undefined, context))
    : serveAuthenticated(context, authentication)
}

function serveAuthenticated(context: S3RequestContext, authentication: Authentication): MaybePromise<void> {
  context.authentication = authentication
  const admitted = requireRootAccess(context.environment.isRootDenied, authentication.identity)
  return admitted === undefined ? serveAdmitted(context) : admitted.then(() => serveAdmitted(context))
}

function serveAdmitted(context: S3RequestContext): MaybePromise<void> {
  if (context.authentication!.method === 'presigned') context.headers = withQueryHeaders(context.headers, context.query)
  if (context.isRoot || context.level === 'service') return serveOperation(context)
  const prepared = context.environment.policy.prepare(context.bucket)
  return prepared === undefined ? serveOperation(context) : prepared.then(serveOperation.bind(undefined, context))
}

function serveOperation(context: S3RequestContext): MaybePromise<void> {
  const { method, level, headers, query, environment } = context
  const operation = environment.table.find(level, method, query, headers)
  const stray = query.size === 0 ? undefined : strayParameter(context, operation)
  if (operation === undefined || stray !== undefined) return refuseOperation(context, operation, stray)
  context.operation = operation.name
  const action = actionOf(context, operation)
  if (context.isRoot || action === undefined || level === 'service') return authorizeAndRun(context, operation, action)
  const prepared = prepareAuthorization(context, operation, action)
  return prepared === undefined
    ? authorizeAndRun(context, operation, action)
    : prepared.then(() => authorizeAndRun(context, operation, action))
}

function authorizeAndRun(
  context: S3RequestContext,
  operation: S3Operation,
  action: string | undefined,
): MaybePromise<void> {
  const isLater = action !== undefined && isAuthorizedWithBody(context, operation, action)
  if (!isLater) authorize(context, operation, action)
  refuseUnbuiltHeaders(context, operation)
  const expectedOwner = context.headers['x-amz-expected-bucket-owner'] as string | undefined
  const checked = expectedOwner === undefined ? undefined : checkExpectedOwner(context, operation, expectedOwner)
  const bodyAction = isLater ? action : undefined
  return checked === undefined
    ? readAndRun(context, operation, bodyAction)
    : checked.then(() => readAndRun(context, operation, bodyAction))
}

/** Browsers send preflights without credentials, whatever the parameters of the request that is to follow. */
function servePreflight(context: S3RequestContext): MaybePromise<void> {
  const { level, headers, environment } = context
  const operation = environment.table.find(level, 'OPTIONS', noParameters, headers)
  if (operation === undefined) return refuseOperation(context, undefined, undefined)
  context.operation = operation.name
  return run(context, operation)
}

/** Undefined where the operation is for everyone. */
function actionOf({ query, level }: S3RequestContext, operation: S3Operation): string | undefined {
  if (query.size === 0 || level !== 'object') return operation.action
  const versionId = query.get('versionId')
  if (versionId === undefined) return operation.action
  if (operation.versionedAction === undefined) {
    throw objectErrors.InvalidArgument('This operation does not accept a version-id.', {
      extra: { ArgumentName: 'versionId', ArgumentValue: versionId },
    })
  }
  if (versionId === '') throw objectErrors.InvalidArgument('Version id cannot be the empty string')
  return operation.versionedAction
}

/** What the policies of who is not root need to know of other buckets, and of objects that are there already. */
function prepareAuthorization(context: S3RequestContext, operation: S3Operation, action: string): MaybePromise<void> {
  const { bucket, key, query, environment } = context
  const versionId = key === '' ? undefined : query.get('versionId')
  const asked = context.question(action, bucket, key, versionId)
  context.asked = asked
  let pending: Promise<unknown> | undefined
  const wait = (prepared: MaybePromise<void>) => {
    if (prepared !== undefined) pending = pending === undefined ? prepared : Promise.all([pending, prepared])
  }
  if (operation.authorization === undefined && key !== '') {
    const isRead =
      mayTell(context) && context.needsTags(context.question(readAction(versionId), bucket, key, versionId))
    if (isRead || context.needsTags(asked)) wait(context.fetchTags(bucket, key, versionId))
    wait(context.fetchUpload(asked))
  }
  const source = otherSourceOf(context)
  if (source !== undefined) {
    const fetchSource = (): MaybePromise<void> =>
      needsTagsOf(context, source, asked) ? context.fetchTags(source.bucket, source.key, source.versionId) : undefined
    const prepared = source.bucket === bucket ? undefined : environment.policy.prepare(source.bucket)
    wait(prepared === undefined ? fetchSource() : prepared.then(fetchSource))
  }
  return pending?.then(() => undefined)
}

function needsTagsOf(context: S3RequestContext, source: OtherSource, asked: AccessRequest): boolean {
  const { bucket, key, versionId, actions, carriesTags } = source
  if (carriesTags && context.environment.policy.mentions(asked, 's3:requestobjecttag')) return true
  return actions.some(action => context.needsTags(context.question(action, bucket, key, versionId)))
}

/** What a request asks for may stand in its body, and policies may have conditions on it. */
function isAuthorizedWithBody(context: S3RequestContext, operation: S3Operation, action: string): boolean {
  if (context.isRoot || operation.body.kind !== 'xml' || operation.authorization !== undefined) return false
  const conditions = bodyConditions.get(operation.body.root)
  if (conditions === undefined) return false
  const { bucket, key, query, environment } = context
  return environment.policy.mentions(context.question(action, bucket, key, query.get('versionId')), conditions)
}

function authorize(context: S3RequestContext, operation: S3Operation, action: string | undefined): void {
  if (action === undefined) return
  if (operation.authorization === 'form') return
  if (operation.authorization === 'items') keepFromAnonymous(context)
  else if (!isAllowed(context, action)) throw s3Errors.AccessDenied()
}

function isAllowed(context: S3RequestContext, action: string): boolean {
  const { asked, environment } = context
  // What was prepared has everything that policies want to know.
  return asked === undefined
    ? context.may(action, context.bucket, context.key, context.query.get('versionId'))
    : environment.policy.isAllowed(asked)
}

function checkExpectedOwner(context: S3RequestContext, operation: S3Operation, expected: string): MaybePromise<void> {
  const { iam, objects } = context.environment
  if (context.level === 'service' || operation.name === 'CreateBucket') {
    if (iam.owner.ownerId !== expected) throw s3Errors.AccessDenied()
    return undefined
  }
  const isAuthorized = operation.authorization === undefined
  return checkBucketOwner(expected, () => (isAuthorized ? objects.getBucket(context.bucket) : ownerOfAny(context)))
}

/** Before the caller is known to have a right in the bucket it is not told whether there is one: all belong to the one owner. */
async function ownerOfAny({ bucket, environment }: S3RequestContext): Promise<Pick<Bucket, 'ownerId'>> {
  try {
    return await environment.objects.getBucket(bucket)
  } catch (error) {
    if (isCatalogError(error) && error.code === 'NoSuchBucket') return environment.iam.owner
    throw error
  }
}

/** `action`: is to be authorized when the body is there. */
function readAndRun(context: S3RequestContext, operation: S3Operation, action?: string): MaybePromise<void> {
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
    authorize(context, operation, action)
    return run(context, operation)
  }
  return readXmlBody(body, kind, context.environment.checksums).then(xml => {
    context.xml = xml
    authorize(context, operation, action)
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
  const unloaded = stray === undefined ? unloadedPlain(level, method) : unloadedSubresource(level, method, stray)
  const selecting = stray === undefined ? undefined : environment.table.selecting(level, stray)
  if (stray !== undefined && selecting !== undefined && (selecting.has(method) || unloaded?.isExact !== true)) {
    keepFromAnonymous(context)
    if (selecting.has(method)) {
      throw objectErrors.InvalidArgument(`The parameter ${stray} needs others beside it.`, {
        extra: { ArgumentName: stray, ArgumentValue: query.get(stray)! },
      })
    }
    throw notAllowed(context, [...selecting].sort())
  }
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
  const { headers, method, level, environment } = context
  const { features } = operation
  if (method === 'GET' || method === 'HEAD') {
    const name = 'x-amz-server-side-encryption-customer-algorithm'
    if (level === 'object' && headers[name] !== undefined && !environment.attributeHeaders.has(name)) {
      throw objectErrors.InvalidRequest(
        'The encryption parameters are not applicable to this object: no object is encrypted without the plugin "encryption".',
      )
    }
    return
  }
  refuseUnloadedFeature(headers, features, environment.attributeHeaders)
  if (level !== 'service' && !features?.includes('x-amz-acl')) refuseAcl(headers, level)
}

const signing = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-signature',
  'x-amz-signedheaders',
])

/** SDKs that presign put `x-amz-…` headers into the query; they mean the same there. A real header wins. */
function withQueryHeaders(headers: IncomingHttpHeaders, query: ReadonlyMap<string, string>): IncomingHttpHeaders {
  let merged: IncomingHttpHeaders | undefined
  for (const [parameter, value] of query) {
    if (parameter.length < 6) continue
    const name = parameter.toLowerCase()
    if (!name.startsWith('x-amz-') || signing.has(name) || headers[name] !== undefined) continue
    merged ??= { ...headers }
    merged[name] = asHeaderValue(name, value)
  }
  return merged ?? headers
}
