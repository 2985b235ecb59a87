/**
 * Refuses requests for operations and features that no loaded plugin implements, with the most precise error possible. Nothing is ignored.
 */
import type { CatalogError, MaybePromise } from 'svc/kernel'
import { objectErrors } from 'svc/plugins/objects/api'
import type { S3Operation } from './api.ts'
import { s3Errors } from './errors.ts'
import { keepFromAnonymous } from './failure.ts'
import { type MissingOperation, missingOperation, refuseMissingFeature } from './not-implemented.ts'
import { strayParameter } from './operation-lookup.ts'
import type { S3RequestContext } from './request.ts'

/** Rejects with the reason why `findOperation` found no operation. */
export async function refuseOperation(context: S3RequestContext): Promise<never> {
  const { level, method, query, headers, environment } = context
  const operation = method === 'OPTIONS' ? undefined : environment.table.find(level, method, query, headers)
  const stray = strayParameter(context, operation)
  const missing = missingOperation(level, method, stray)
  const mistake = mistakeOf(context, operation, stray, missing)
  if (mistake !== undefined) {
    keepFromAnonymous(context)
    throw mistake
  }
  context.operation = missing?.name ?? 'Unknown'
  if (!context.may(`s3:${context.operation}`, context.bucket, context.key)) throw s3Errors.AccessDenied()
  // If the bucket does not exist, that is the better error.
  if (level !== 'service') await environment.objects.getBucket(context.bucket)
  throw missing === undefined ? unknownSubresource(stray!) : notImplemented(missing)
}

/** The mistake in a request for an implemented operation. Undefined if the operation is not implemented. */
function mistakeOf(
  context: S3RequestContext,
  operation: S3Operation | undefined,
  stray: string | undefined,
  missing: MissingOperation | undefined,
): CatalogError | undefined {
  const { level, method, query, headers, environment } = context
  const { table } = environment
  if (stray === undefined) {
    return missing === undefined ? notAllowed(context, table.methods(level, query, headers)) : undefined
  }
  if (operation?.match.query !== undefined) return conflicting(operation.match.query, stray)
  const methods = table.selecting(level, stray)
  if (methods === undefined) return undefined
  if (methods.has(method)) return incomplete(stray, query.get(stray)!)
  return missing?.isExact === true ? undefined : notAllowed(context, [...methods].sort())
}

function notAllowed({ method, level }: S3RequestContext, methods: readonly string[]): CatalogError {
  return objectErrors.MethodNotAllowed(undefined, {
    extra: { Method: method, ResourceType: level.toUpperCase(), allow: methods.join(', ') },
  })
}

function conflicting(parameters: readonly string[], stray: string): CatalogError {
  return objectErrors.InvalidArgument(`Conflicting query string parameters: ${parameters.join(', ')}, ${stray}`, {
    extra: { ArgumentName: 'ResourceType', ArgumentValue: stray },
  })
}

function incomplete(parameter: string, value: string): CatalogError {
  return objectErrors.InvalidArgument(`The parameter ${parameter} needs others beside it.`, {
    extra: { ArgumentName: parameter, ArgumentValue: value },
  })
}

function unknownSubresource(parameter: string): CatalogError {
  return s3Errors.NotImplemented(`The sub-resource "${parameter}" is not known to this server.`, {
    extra: { Parameter: parameter },
  })
}

function notImplemented({ name, plugin }: MissingOperation): CatalogError {
  return s3Errors.NotImplemented(
    `${name} is not implemented here: it would come with the plugin "${plugin}", which is not loaded.`,
    { extra: { Plugin: plugin } },
  )
}

const customerAlgorithm = 'x-amz-server-side-encryption-customer-algorithm'

/** Throws, or rejects, for headers that request a feature, unless the operation or a loaded plugin implements it. */
export function refuseHeaders(context: S3RequestContext, { features }: S3Operation): MaybePromise<void> {
  const { headers, method, level, environment } = context
  const { attributeHeaders } = environment
  if (method === 'GET' || method === 'HEAD') {
    if (level !== 'object' || headers[customerAlgorithm] === undefined) return
    if (attributeHeaders.has(customerAlgorithm)) return
    throw objectErrors.InvalidRequest(
      'The encryption parameters are not applicable to this object: no object is encrypted without the plugin "encryption".',
    )
  }
  refuseMissingFeature(headers, features, attributeHeaders)
  if (level === 'service' || features?.includes('x-amz-acl')) return
  return context.refuseAcl(level)
}
