/** Problem documents (RFC 9457), the form of all errors outside of the S3 protocol. */
import { STATUS_CODES } from 'node:http'

export interface Problem {
  readonly status: number
  /** Stable, snake_case. */
  readonly code: string
  /** A sentence for a person, without secrets and internals. */
  readonly detail: string
  readonly requestId: string
  /** Path of the request, if there is one. */
  readonly instance?: string
  /** Further members, such as `errors`. */
  readonly more?: Readonly<Record<string, unknown>>
}

export const problemMediaType = 'application/problem+json'

export function problemDocument({ status, code, detail, requestId, instance, more }: Problem): string {
  const title = STATUS_CODES[status]
  return JSON.stringify({ type: `urn:svc:error:${code}`, title, status, detail, instance, code, requestId, ...more })
}
