/** Finds the targets of a warm-up: given paths, paths of objects, and paths of a sitemap. */
import { isCatalogError } from 'svc/kernel'
import {
  asSent,
  compilePattern,
  type Distribution,
  readPattern,
  withPlainPercents,
} from 'svc/plugins/distributions/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { invalidRequest } from '../errors.ts'
import { indexDocumentsOf } from '../purge/selection.ts'

const pageSize = 1000
const sitemapBytesMax = 10 * 1024 * 1024
const locationsPerTurn = 1000

export interface WarmRequest {
  readonly paths?: readonly string[]
  readonly patterns?: readonly { readonly type: 'prefix' | 'glob'; readonly pattern: string }[]
  readonly sitemap?: string
  readonly domains?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly maxObjects?: number
  readonly concurrency?: number
}

type Objects = Pick<ObjectsService, 'getObject' | 'listObjects' | 'read'>

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

/** The path of a key, as in URLs; for an index document the path of its folder. */
export function targetOf(key: string, indexDocuments: ReadonlySet<string>): string {
  const path = `/${key}`
  const slash = path.lastIndexOf('/')
  return encodePath(indexDocuments.has(path.slice(slash + 1)) ? path.slice(0, slash + 1) : path)
}

/** The targets of a request: paths and queries as in URLs, each once, at most `max`. Throws `invalid_cache_request`. */
export async function targetsOf(
  { paths = [], patterns = [], sitemap }: WarmRequest,
  distribution: Distribution,
  objects: Objects,
  max: number,
  normalizeKey: NormalizeKey,
): Promise<readonly string[]> {
  const targets = new Set<string>()
  const add = (target: string): boolean => {
    if (targets.size < max) targets.add(target)
    return targets.size < max
  }
  for (const path of paths) add(asSent(withPlainPercents(path)))
  if (sitemap !== undefined) await addSitemap(sitemap, distribution, objects, add, normalizeKey)
  const inKeyForm = patterns.map(one => ({ ...one, pattern: normalizeKey(one.pattern) }))
  if (patterns.length > 0) await addObjects(inKeyForm, distribution, objects, add)
  return [...targets]
}

/** Throws `invalid_cache_request` for a request that selects nothing, invalid paths, and patterns that cannot be compiled. */
export function requireTargets({ paths = [], patterns = [], sitemap }: WarmRequest): void {
  if (paths.length === 0 && patterns.length === 0 && sitemap === undefined)
    throw invalidRequest('', 'selects nothing: it needs paths, patterns or sitemap')
  for (const [index, path] of paths.entries()) {
    if (!path.startsWith('/') || path.includes('#'))
      throw invalidRequest(`/paths/${index}`, `must be a path that begins with / and has no #: ${JSON.stringify(path)}`)
  }
  if (sitemap !== undefined && !sitemap.startsWith('/'))
    throw invalidRequest('/sitemap', 'must be a path that begins with /')
  for (const [index, pattern] of patterns.entries()) requirePattern(pattern, `/patterns/${index}/pattern`)
}

type Pattern = NonNullable<WarmRequest['patterns']>[number]

/** A pattern of decoded paths; its leading slash may be left out. */
const rooted = ({ type, pattern }: Pattern): Pattern => ({
  type,
  pattern: pattern.startsWith('/') ? pattern : `/${pattern}`,
})

/** Compiles a pattern that was checked. Throws for one of another release. */
export const compiled = (pattern: Pattern): ((path: string) => boolean) => compilePattern(rooted(pattern))

/** Throws `invalid_cache_request` for a pattern that cannot be compiled, or that is percent-encoded and not `isKept`. */
export function requirePattern(pattern: Pattern, element: string, isKept = false): void {
  try {
    if (isKept) compiled(pattern)
    else readPattern(rooted(pattern))
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw invalidRequest(element, error.message)
  }
}

async function addObjects(
  patterns: NonNullable<WarmRequest['patterns']>,
  distribution: Distribution,
  objects: Objects,
  add: (target: string) => boolean,
): Promise<void> {
  const { bucket, pathPrefix } = distribution.origin
  const indexDocuments = indexDocumentsOf([distribution])
  for (const pattern of patterns) {
    const matches = compiled(pattern)
    const prefix = pathPrefix + literalStart(pattern)
    for (let startAfter = ''; ; ) {
      const page = await objects.listObjects({ bucket, prefix, delimiter: '', startAfter, maxKeys: pageSize })
      for (const { key } of page.objects) {
        const own = key.slice(pathPrefix.length)
        if (matches(`/${own}`) && !add(targetOf(own, indexDocuments))) return
      }
      const last = page.objects.at(-1)?.key
      if (page.objects.length < pageSize || last === undefined) break
      startAfter = last
    }
  }
}

/** The text that all matching keys begin with. */
function literalStart({ type, pattern }: { readonly type: string; readonly pattern: string }): string {
  const text = pattern.replace(/^\//, '')
  return type === 'prefix' ? text : (/^[^*?{}[\]\\]*/.exec(text)?.[0] ?? '')
}

async function addSitemap(
  target: string,
  distribution: Distribution,
  objects: Objects,
  add: (target: string) => boolean,
  normalizeKey: NormalizeKey,
): Promise<void> {
  const { aliases, origin } = distribution
  const path = decoded(target, normalizeKey)
  if (path === undefined) throw invalidRequest('/sitemap', 'is no path: it has an invalid escape')
  const access = accessOf(path, distribution)
  if (access !== 'public' && access !== 'signed')
    throw invalidRequest('/sitemap', `is in a behavior whose access is ${access}: it is read as visitors read it`)
  const text = await readText(origin.bucket, origin.pathPrefix + path.slice(1), objects)
  if (text === undefined) throw invalidRequest('/sitemap', 'is no object of the distribution')
  let count = 0
  for (const [, escaped = ''] of text.matchAll(/<loc>\s*([^<\s]{1,4096})\s*<\/loc>/g)) {
    // Lets other requests run meanwhile: a sitemap may have half a million locations.
    if (++count % locationsPerTurn === 0) await new Promise(resolve => setImmediate(resolve))
    const url = URL.parse(escaped.replaceAll('&amp;', '&'))
    const isOwn = url !== null && aliases.some(alias => alias === url.hostname)
    if (isOwn && !add(url.pathname + url.search)) return
  }
}

function decoded(path: string, normalizeKey: NormalizeKey): string | undefined {
  try {
    return normalizeKey(decodeURIComponent(path))
  } catch {
    return undefined
  }
}

/** The access that the behavior of a path requires. Warming by a sitemap reveals its pages to the caller, who may not be allowed to read it. */
function accessOf(path: string, { behaviors, defaultBehavior }: Distribution): string {
  const own = behaviors.find(({ pathPattern }) => compilePattern(pathPattern)(path))
  return own?.access ?? defaultBehavior.access ?? 'public'
}

async function readText(bucket: string, key: string, objects: Objects): Promise<string | undefined> {
  try {
    const version = await objects.getObject(bucket, key)
    if (version.isDeleteMarker || version.encryption?.type === 'SSE-C') return undefined
    if (version.sizeBytes > sitemapBytesMax) throw invalidRequest('/sitemap', `has more than ${sitemapBytesMax} bytes`)
    const data = await objects.read(version, 0, version.sizeBytes)
    if (data.kind === 'whole') return data.bytes.toString('utf8')
    const chunks: Buffer[] = []
    try {
      for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
        chunks.push(Buffer.from(chunk.bytes))
        chunk.release()
      }
    } finally {
      data.close()
    }
    return Buffer.concat(chunks).toString('utf8')
  } catch (error) {
    if (isCatalogError(error) && error.status === 404) return undefined
    throw error
  }
}
