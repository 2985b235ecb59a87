/** Says how a request to the host of a bucket would be answered: the steps of `serve` up to the decision. Nothing is done, sent or counted. */
import { isCatalogError } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { Authentication, Identity } from 'svc/plugins/iam/api'
import { objectErrors } from 'svc/plugins/objects/api'
import type { Simulation } from 'svc/plugins/policy/api'
import type { BucketDomain, RehearsedAnswer, S3Operation, S3Rehearsal } from './api.ts'
import { fetchAuthorizationFacts, requiredAction } from './authorization.ts'
import { s3Errors } from './errors.ts'
import { findOperation } from './operation-lookup.ts'
import { otherSourceOf } from './other-sources.ts'
import { refuseOperation } from './refusals.ts'
import { type S3Environment, S3RequestContext } from './request.ts'
import { requireRootAccess } from './root-access.ts'
import { parseTarget } from './target.ts'

/** Operations whose answer depends on the stored object. */
const reads: ReadonlySet<string> = new Set(['GetObject', 'HeadObject', 'GetObjectAttributes'])

export async function rehearse(
  exchange: Exchange,
  domain: BucketDomain,
  { identity, nowMs }: S3Rehearsal,
  environment: S3Environment,
): Promise<RehearsedAnswer> {
  const clock = Object.assign(Object.create(environment.clock), { now: () => nowMs }) as S3Environment['clock']
  const context = new S3RequestContext(exchange, { ...environment, clock }, domain)
  let decision: Simulation | undefined
  const answer = (status: number, errorCode?: string): RehearsedAnswer => ({
    operation: context.operation,
    key: context.key,
    status,
    errorCode,
    decision,
  })
  try {
    if (domain.refusal !== undefined) throw domain.refusal
    context.setTarget(parseTarget(exchange.request.url!, context.host, environment.target, domain.bucket))
    context.authentication = authenticationOf(identity)
    if (domain.refusesAnonymous && identity === undefined) throw s3Errors.AccessDenied()
    await requireRootAccess(environment.isRootDenied, identity)
    if (!context.isRoot) await environment.policy.prepare(context.bucket)
    const operation = findOperation(context) ?? (await refuseOperation(context))
    context.operation = operation.name
    const source = otherSourceOf(context)
    if (source !== undefined && source.bucket !== domain.bucket) throw s3Errors.AccessDenied()
    decision = await decide(context, operation)
    if (decision?.allowed === false) throw s3Errors.AccessDenied()
    if (reads.has(operation.name)) await requireObject(context)
    return answer(200)
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return answer(error.status, error.code)
  }
}

/** Decides on a request. Single items of a body are not known, so they are allowed here. */
async function decide(context: S3RequestContext, operation: S3Operation): Promise<Simulation | undefined> {
  const action = requiredAction(context, operation)
  if (action === undefined || operation.authorization !== undefined) return undefined
  await fetchAuthorizationFacts(context, operation, action)
  const { bucket, key, query, asked, environment } = context
  const versionId = key === '' ? undefined : query.get('versionId')
  return environment.policy.simulate(asked ?? context.question(action, bucket, key, versionId))
}

async function requireObject({ environment, bucket, key, query }: S3RequestContext): Promise<void> {
  const version = await environment.objects.getObject(bucket, key, query.get('versionId'))
  if (version.isDeleteMarker) throw objectErrors.NoSuchKey()
}

function authenticationOf(identity: Identity | undefined): Authentication {
  const method = identity === undefined ? 'anonymous' : 'header'
  return { identity, method, payload: { kind: 'unsigned' }, createDecoder: () => undefined }
}
