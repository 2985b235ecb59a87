/** Finds the operation of a request, and parameters that would select another operation. */
import type { S3Operation } from './api.ts'
import { looksLikeSubresource, missingOperation } from './not-implemented.ts'
import type { S3RequestContext } from './request.ts'
import { noParameters } from './target.ts'

/** Undefined if no loaded operation implements all that the request asks for: see `refuseOperation`. */
export function findOperation(context: S3RequestContext): S3Operation | undefined {
  const { level, method, headers, environment } = context
  const query = ownParameters(context)
  const operation = environment.table.find(level, method, query, headers)
  return query.size === 0 || strayParameter(context, operation) === undefined ? operation : undefined
}

/** The parameters of a preflight are those of the request that follows it. */
function ownParameters({ method, query }: S3RequestContext): ReadonlyMap<string, string> {
  return method === 'OPTIONS' ? noParameters : query
}

/**
 * A parameter that would select another operation than the one that was found. A sub-resource must never be dropped: PUT with `?acl` is not
 * an upload with an additional parameter.
 */
export function strayParameter(context: S3RequestContext, operation: S3Operation | undefined): string | undefined {
  const { level, method, environment } = context
  for (const [name, value] of ownParameters(context)) {
    if (operation !== undefined && takes(operation, name)) continue
    if (
      environment.table.selecting(level, name) !== undefined ||
      missingOperation(level, method, name) !== undefined ||
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
