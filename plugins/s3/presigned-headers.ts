/** SDKs that presign put `x-amz-…` headers into the query, with the same meaning. */
import type { IncomingHttpHeaders } from 'node:http'
import { asHeaderValue } from 'svc/plugins/payload/api'
import type { S3RequestContext } from './request.ts'

const signatureParameters = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-signature',
  'x-amz-signedheaders',
])

/** Adds the headers in the query of a presigned request to its headers. A header in the head takes precedence. */
export function addPresignedHeaders(context: S3RequestContext): void {
  if (context.authentication!.method !== 'presigned') return
  const { headers } = context
  let merged: IncomingHttpHeaders | undefined
  for (const [parameter, value] of context.query) {
    if (parameter.length < 6) continue
    const name = parameter.toLowerCase()
    if (!name.startsWith('x-amz-') || signatureParameters.has(name) || headers[name] !== undefined) continue
    merged ??= { ...headers }
    merged[name] = asHeaderValue(name, value)
  }
  if (merged !== undefined) context.headers = merged
}
