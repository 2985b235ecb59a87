/** Authorizes a request: determines the action that it needs, and fetches facts that policies need for the decision. */
import type { MaybePromise } from 'svc/kernel'
import { objectErrors } from 'svc/plugins/objects/api'
import type { AccessRequest } from 'svc/plugins/policy/api'
import type { S3Operation } from './api.ts'
import { mayTell, readAction } from './conditions.ts'
import { s3Errors } from './errors.ts'
import { keepFromAnonymous } from './failure.ts'
import { type OtherSource, otherSourceOf } from './other-sources.ts'
import type { S3RequestContext } from './request.ts'
import { bodyConditions } from './request-facts.ts'

/** The policy action of the request; undefined if everybody may call the operation. Throws InvalidArgument for an invalid version id. */
export function requiredAction({ query, level }: S3RequestContext, operation: S3Operation): string | undefined {
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

/**
 * Fetches the stored facts that conditions of the caller's policies need, and lists that may allow the request: tags and list of the
 * object, tags and encryption of the upload that is written to, tags, list and policies of the source of a copy. Undefined if there is
 * nothing to fetch.
 */
export function fetchAuthorizationFacts(
  context: S3RequestContext,
  operation: S3Operation,
  action: string | undefined,
): Promise<unknown> | undefined {
  const { bucket, key, query, level } = context
  if (context.isRoot || action === undefined || level === 'service') return undefined
  const versionId = key === '' ? undefined : query.get('versionId')
  const asked = context.question(action, bucket, key, versionId)
  context.asked = asked
  const fetches: Promise<void>[] = []
  if (operation.authorization === undefined && key !== '') {
    if (context.needsTags(asked) || context.needsAcl(asked) || needsTagsToRead(context, versionId)) {
      fetches.push(context.fetchTags(bucket, key, versionId))
    }
    const upload = context.fetchUpload(asked)
    if (upload !== undefined) fetches.push(upload)
  }
  const source = otherSourceOf(context)
  if (source !== undefined) fetches.push(fetchSource(context, source, asked))
  return fetches.length === 0 ? undefined : Promise.all(fetches)
}

/** The outcome of the write's conditions reveals the present object, which needs the permission to read. */
function needsTagsToRead(context: S3RequestContext, versionId: string | undefined): boolean {
  return (
    mayTell(context) &&
    context.needsTags(context.question(readAction(versionId), context.bucket, context.key, versionId))
  )
}

async function fetchSource(context: S3RequestContext, source: OtherSource, asked: AccessRequest): Promise<void> {
  const { bucket, key, versionId } = source
  if (bucket !== context.bucket) await context.environment.policy.prepare(bucket)
  if (needsTagsOf(context, source, asked)) await context.fetchTags(bucket, key, versionId)
}

function needsTagsOf(context: S3RequestContext, source: OtherSource, asked: AccessRequest): boolean {
  const { bucket, key, versionId, actions, carriesTags } = source
  if (carriesTags && context.environment.policy.mentions(asked, 's3:requestobjecttag')) return true
  return actions.some(action => {
    const question = context.question(action, bucket, key, versionId)
    return context.needsTags(question) || context.needsAcl(question)
  })
}

/** Whether policies have conditions on elements of the body, so that the decision has to wait for the body. */
export function isDecidedByBody(
  context: S3RequestContext,
  operation: S3Operation,
  action: string | undefined,
): boolean {
  if (context.isRoot || action === undefined) return false
  if (operation.body.kind !== 'xml' || operation.authorization !== undefined) return false
  const conditions = bodyConditions.get(operation.body.root)
  if (conditions === undefined) return false
  const { bucket, key, query, environment } = context
  return environment.policy.mentions(context.question(action, bucket, key, query.get('versionId')), conditions)
}

/** Throws AccessDenied. Operations on several items, and forms, make further decisions themselves. */
export function authorize(
  context: S3RequestContext,
  operation: S3Operation,
  action: string | undefined,
): MaybePromise<void> {
  if (action === undefined) return
  if (operation.authorization === 'form') return
  if (operation.authorization === 'items') {
    keepFromAnonymous(context)
    context.isOfItems = true
  } else if (!isAllowed(context, action)) return refuse(context)
}

/** As on AWS, everybody may learn that a bucket does not exist: this distinguishes a wrong name in a public link from a private bucket. */
async function refuse({ identity, level, method, bucket, environment }: S3RequestContext): Promise<never> {
  const isRead = method === 'GET' || method === 'HEAD'
  if (identity === undefined && level !== 'service' && isRead) await environment.objects.getBucket(bucket)
  throw s3Errors.AccessDenied()
}

function isAllowed(context: S3RequestContext, action: string): boolean {
  const { asked, environment } = context
  if (asked === undefined) return context.may(action, context.bucket, context.key, context.query.get('versionId'))
  // The prepared question has every fact that policies have conditions on.
  const isGranted = environment.policy.isAllowed(asked)
  if (!isGranted) context.refused = asked
  return isGranted
}
