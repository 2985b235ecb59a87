/** The target of a request: its path and query. */
import type { Visit } from 'svc/plugins/distributions/api'
import { decodePath } from './path.ts'
import { WebRefusal } from './refusal.ts'

export interface Target {
  readonly path: string
  /** Raw, with its question mark; or empty. */
  readonly query: string
}

export function splitTarget({ exchange }: Visit): { readonly rawPath: string; readonly query: string } {
  const url = exchange.request.url as string
  const mark = url.indexOf('?')
  return mark < 0 ? { rawPath: url, query: '' } : { rawPath: url.slice(0, mark), query: url.slice(mark) }
}

export function readTarget(visit: Visit, normalizeKey: (key: string) => string): Target {
  const { rawPath, query } = splitTarget(visit)
  const path = decodePath(rawPath, normalizeKey)
  if (path === undefined) throw new WebRefusal(400, 'path')
  return { path, query }
}

/** The port of the host that the visitor names, with its colon; empty if there is none. */
export function portOf({ exchange }: Visit): string {
  return /:\d+$/.exec(exchange.host)?.[0] ?? ''
}

/** The first `versionId` of the query; undefined if there is none, or if it is not a text. */
export function readVersionId(query: string): string | undefined {
  const found = /[?&]versionId=([^&]*)/.exec(query)?.[1]
  return found === undefined || !/^[A-Za-z0-9._~-]{1,64}$/.test(found) ? undefined : found
}

const ofSignatures: ReadonlySet<string> = new Set(['Expires', 'Policy', 'Signature', 'Key-Pair-Id', 'Hash-Algorithm'])

/** Raw, without question mark and without what signs a URL: every visitor has another signature of the same page. */
export function unsignedQuery(query: string): string {
  if (query.length < 2) return ''
  const pairs = query.slice(1).split('&')
  return pairs.filter(pair => !ofSignatures.has(pair.split('=', 1)[0] as string)).join('&')
}
