/** Paths of operations: for Fastify's router, and for the answers to requests that it does not route. */
import type { AdminMethod, AdminOperation } from './api.ts'
import { adminErrors } from './errors.ts'

/** Characters of one decoded segment. */
const segmentMax = 1024

/** Number of segments of `/api/v1`, in any encoding. */
const baseSegments = 3

export function routeUrl(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Throws `uri_too_long`. Fastify would measure parameters only. */
export function requireShortSegments(rawPath: string): void {
  if (rawPath.length > segmentMax) decodedSegments(rawPath)
}

/** The methods of a path, sorted: Fastify finds a path only together with its method. Throws `invalid_argument`. */
export function methodsAt(operations: readonly AdminOperation[], rawPath: string): readonly AdminMethod[] {
  const values = decodedSegments(rawPath).slice(baseSegments)
  const found = operations.filter(({ path }) => {
    const segments = path.split('/').slice(1)
    if (segments.length !== values.length) return false
    return segments.every((segment, n) => segment.startsWith('{') || values[n] === segment)
  })
  return [...new Set(found.map(({ method }) => method))].sort()
}

/** Split before decoding: an encoded slash is no separator. */
function decodedSegments(rawPath: string): readonly string[] {
  return rawPath.split('/').map(segment => {
    if (segment.length > segmentMax * 3) throw adminErrors.uri_too_long()
    let text: string
    try {
      text = decodeURIComponent(segment)
    } catch {
      throw adminErrors.invalid_argument('The path is not percent-encoded UTF-8.')
    }
    if (text.length > segmentMax) throw adminErrors.uri_too_long()
    return text
  })
}
