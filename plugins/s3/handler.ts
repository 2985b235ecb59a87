/**
 * The way of every S3 request. `serve` processes it from the head to the answer; each step is one line and one function. A step that
 * usually need not wait returns a promise only if it has to, and only then `serve` waits: a small GET is answered in the turn of the event
 * loop in which it arrived.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { Authentication } from 'svc/plugins/iam/api'
import { answer } from './answer.ts'
import type { BucketDomain } from './api.ts'
import { authorize, fetchAuthorizationFacts, isDecidedByBody, requiredAction } from './authorization.ts'
import { checkExpectedOwner } from './bucket-owner.ts'
import { s3Errors } from './errors.ts'
import { answerError } from './failure.ts'
import { foreignServiceOf, refuseForeignService } from './foreign-service.ts'
import { findOperation } from './operation-lookup.ts'
import { addOriginHeaders } from './origin-headers.ts'
import { otherSourceOf } from './other-sources.ts'
import { addPresignedHeaders } from './presigned-headers.ts'
import { isQueryApiForm, serveQueryApi } from './query-api.ts'
import { spendToken } from './rate-limit.ts'
import { refuseHeaders, refuseOperation } from './refusals.ts'
import { type S3Environment, S3RequestContext } from './request.ts'
import { readBody } from './request-body.ts'
import { requireRootAccess } from './root-access.ts'
import { answerSlowly } from './slow-answer.ts'
import { parseTarget, type Target } from './target.ts'

/** `domain`: the host is one bucket. */
export type S3Handler = (exchange: Exchange, domain?: BucketDomain) => void

export function createS3Handler(environment: S3Environment): S3Handler {
  return (exchange, domain) => {
    const context = new S3RequestContext(exchange, environment, domain)
    const { response } = exchange
    // `close` comes once: after the last byte was handed to the socket, or after the client disconnected.
    response.on('close', () => {
      context.isClosed = true
      environment.requestLimit.leave(context)
      if (!response.writableFinished) context.errorCode ??= 'RequestAborted'
      observe(context, response.writableFinished ? response.statusCode : 499)
    })
    serve(context).catch((error: unknown) => answerError(context, error))
  }
}

/** Rejects with the error for the answer. */
async function serve(context: S3RequestContext): Promise<void> {
  const { exchange, environment, domain } = context
  if (domain?.refusal !== undefined) throw domain.refusal
  const admitted = spendToken(environment.rateLimits, 's3_ip', exchange.clientAddress)
  if (admitted !== undefined) await admitted
  const turn = environment.requestLimit.enter(context)
  if (turn !== undefined) await turn
  refuseWhileDraining(exchange)
  const target = parseTarget(exchange.request.url!, context.host, environment.target, domain?.bucket)
  context.setTarget(target)
  // First, because pages of other origins can read refusals only with these headers.
  if (context.headers.origin !== undefined) await addOriginHeaders(context, context.headers.origin)

  if (context.method === 'OPTIONS') return answerPreflight(context)
  const foreign = foreignServiceOf(context)
  if (foreign !== undefined) return refuseForeignService(context, foreign)
  if (isQueryApiForm(context)) return serveQueryApi(context, target)

  const authentication = authenticate(context, target)
  context.authentication = authentication instanceof Promise ? await authentication : authentication
  if (domain?.refusesAnonymous && context.identity === undefined) throw s3Errors.AccessDenied()
  const ofKey = spendTokenOfKey(context)
  if (ofKey !== undefined) await ofKey
  const rootAccess = requireRootAccess(environment.isRootDenied, context.identity)
  if (rootAccess !== undefined) await rootAccess
  addPresignedHeaders(context)
  const policies = preparePolicies(context)
  if (policies !== undefined) await policies

  const operation = findOperation(context) ?? (await refuseOperation(context))
  context.operation = operation.name
  context.exchange.operation = operation.name
  if (domain !== undefined) refuseOtherBuckets(context, domain)
  const action = requiredAction(context, operation)
  const facts = fetchAuthorizationFacts(context, operation, action)
  if (facts !== undefined) await facts
  const isLater = isDecidedByBody(context, operation, action)
  const refused = isLater ? undefined : authorize(context, operation, action)
  if (refused !== undefined) await refused
  // After the decision, so that refused requests do not use up the limit of the bucket.
  const ofBucket =
    context.level === 'service' ? undefined : spendToken(environment.rateLimits, 's3_bucket', context.bucket)
  if (ofBucket !== undefined) await ofBucket
  const judged = refuseHeaders(context, operation)
  if (judged !== undefined) await judged
  const expectedOwner = context.headers['x-amz-expected-bucket-owner']
  if (expectedOwner !== undefined) await checkExpectedOwner(context, operation, expectedOwner as string)

  const before = operation.before?.(context)
  if (before !== undefined) await before
  const body = readBody(context, operation)
  if (body !== undefined) await body
  if (isLater) await authorize(context, operation, action)

  const result = operation.handle(context)
  if (operation.isSlow) return answerSlowly(context, operation, result)
  const sent = answer(context, operation, result instanceof Promise ? await result : result)
  if (sent !== undefined) await sent
}

function refuseWhileDraining({ draining }: Exchange): void {
  if (!draining) return
  throw s3Errors.ServiceUnavailable('The server is stopping. Please retry.', { extra: { 'retry-after': '1' } })
}

/** What is published is this bucket: whoever may read another one reads it elsewhere. */
function refuseOtherBuckets(context: S3RequestContext, { bucket }: BucketDomain): void {
  const source = otherSourceOf(context)
  if (source !== undefined && source.bucket !== bucket) {
    throw s3Errors.AccessDenied('On this host there is no other bucket: the source has to be in the same one.')
  }
}

/** Browsers send preflights without credentials. */
async function answerPreflight(context: S3RequestContext): Promise<void> {
  const operation = findOperation(context) ?? (await refuseOperation(context))
  context.operation = operation.name
  context.exchange.operation = operation.name
  await answer(context, operation, await operation.handle(context))
}

function authenticate(context: S3RequestContext, target: Target): MaybePromise<Authentication> {
  const { rawPath, rawQuery, hostBucket } = target
  const { method, host, secure, exchange, environment } = context
  const { headers, rawHeaders } = exchange.request
  return environment.iam.authenticate(
    { api: 's3', method, rawPath, rawQuery, headers, rawHeaders, host, hostBucket, secure },
    exchange.clientAddress,
  )
}

/**
 * For links, address and bucket are limited instead of the key: the key belongs to the creator of the link, and anybody may have the link.
 */
function spendTokenOfKey({ authentication, identity, environment }: S3RequestContext): MaybePromise<void> {
  if (identity === undefined || authentication?.method === 'presigned') return
  return spendToken(environment.rateLimits, 's3_access_key', identity.accessKey)
}

/** Makes the policies of the bucket include every acknowledged change. Not needed for root. */
function preparePolicies({ isRoot, level, bucket, environment }: S3RequestContext): MaybePromise<void> {
  return isRoot || level === 'service' ? undefined : environment.policy.prepare(bucket)
}

function observe(context: S3RequestContext, status: number): void {
  const { domain, environment } = context
  const { observers, log } = environment
  if (observers.length === 0 && domain === undefined) return
  const record = context.record(status)
  domain?.onRecord?.(record)
  for (const observer of observers) {
    try {
      observer(record)
    } catch (err) {
      // The other observers must get the record, too.
      log.error({ err, requestId: context.requestId }, 'an observer of S3 requests failed')
    }
  }
}
