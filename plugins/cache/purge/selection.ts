/** Turns a request to purge into selectors that answers are compared with. Throws `invalid_cache_request`. */
import { asHost, type Distribution, normalizeHost, readPattern, withPlainPercents } from 'svc/plugins/distributions/api'
import { invalidRequest } from '../errors.ts'
import type { PurgePattern, StoredPurge, StoredRequest } from './documents.ts'

export interface PurgeInput {
  readonly domain?: string
  /** Paths, encoded or not, or absolute URLs. Queries are ignored. */
  readonly paths?: readonly string[]
  readonly patterns?: readonly PurgePattern[]
  readonly tags?: readonly string[]
  readonly all?: boolean
  readonly soft?: boolean
}

export interface PurgeContext {
  /** Undefined: every distribution. */
  readonly distribution: Distribution | undefined
  /** Names of the index documents of all distributions that may be selected. */
  readonly indexDocuments: ReadonlySet<string>
  readonly actor: string
}

export function readSelection(
  input: PurgeInput,
  { distribution, indexDocuments, actor }: PurgeContext,
): { readonly request: StoredRequest; readonly places: StoredPurge['places'] } {
  const { paths = [], patterns = [], tags = [], soft = false } = input
  const domain = input.domain === undefined ? undefined : readDomain(input.domain, distribution)
  const isNamed = paths.length + patterns.length + tags.length > 0
  if (!isNamed && domain === undefined && input.all !== true)
    throw invalidRequest('', 'selects nothing: choose paths, patterns, tags, a domain or everything ("all": true)')
  if (isNamed && input.all === true) throw invalidRequest('/all', 'excludes paths, patterns and tags')
  for (const [index, pattern] of patterns.entries()) {
    try {
      readPattern(pattern)
    } catch (error) {
      throw invalidRequest(`/patterns/${index}/pattern`, (error as Error).message)
    }
  }
  const places = paths.flatMap((path, index) => placesOf(path, `/paths/${index}`, distribution, indexDocuments))
  const request: StoredRequest = {
    paths: [...paths],
    patterns: [...patterns],
    tags: [...tags],
    all: !isNamed,
    soft,
    actor,
    ...(distribution !== undefined && { distribution: distribution.id }),
    ...(domain !== undefined && { domain }),
  }
  return { request, places }
}

function readDomain(given: string, distribution: Distribution | undefined): string {
  const isWildcard = given.startsWith('*.')
  const name = normalizeHost(asHost(isWildcard ? given.slice(2) : given))
  if (name === '') throw invalidRequest('/domain', 'is no host name')
  const domain = isWildcard ? `*.${name}` : name
  if (distribution !== undefined && !hasHost(distribution, domain))
    throw invalidRequest('/domain', `is no domain of the distribution ${distribution.id}`)
  return domain
}

const hasHost = ({ aliases }: Distribution, host: string) =>
  aliases.some(alias => alias === host || (alias.startsWith('*.') && host.endsWith(alias.slice(1))))

function placesOf(
  given: string,
  element: string,
  distribution: Distribution | undefined,
  indexDocuments: ReadonlySet<string>,
): StoredPurge['places'] {
  let path = given
  let host: string | undefined
  if (/^https?:\/\//i.test(given)) {
    const url = URL.parse(given)
    host = url === null ? '' : normalizeHost(url.host)
    if (url === null || host === '') throw invalidRequest(element, 'is no URL')
    if (distribution !== undefined && !hasHost(distribution, host))
      throw invalidRequest(element, `is at no domain of the distribution ${distribution.id}`)
    path = url.pathname
  } else if (!given.startsWith('/')) throw invalidRequest(element, 'must begin with /, or be a URL')
  const decoded = decodedPath(path)
  const found = new Set([decoded, decoded.normalize('NFC')])
  for (const one of [...found]) {
    if (!one.endsWith('/')) continue
    if (one.length > 1) found.add(one.slice(0, -1))
    for (const name of indexDocuments) found.add(one + name)
  }
  return [...found].map(one => (host === undefined ? { path: one } : { path: one, host }))
}

/** Without its query. */
export function decodedPath(target: string): string {
  const [path = ''] = target.split('?', 1)
  // An invalid escape stands for itself.
  return decodeURIComponent(withPlainPercents(path))
}

/**
 * Whether a purge of every distribution may select answers of this one. A tag is purged on every host; other parts at the domain, or at
 * the hosts of URLs.
 */
export function mayHit({ aliases }: Pick<Distribution, 'aliases'>, input: PurgeInput): boolean {
  const { paths = [], patterns = [], tags = [] } = input
  if (tags.length > 0) return true
  const domain = input.domain === undefined ? undefined : readDomain(input.domain, undefined)
  const hosts = paths.map(path => (/^https?:\/\//i.test(path) ? normalizeHost(URL.parse(path)?.host ?? '') : domain))
  if (patterns.length > 0 || paths.length === 0) hosts.push(domain)
  return hosts.some(host => host === undefined || aliases.some(alias => overlap(alias, host)))
}

/** Whether the two may be about one host; each may be a wildcard. */
function overlap(one: string, other: string): boolean {
  const covers = (wildcard: string, host: string) =>
    wildcard.startsWith('*.') && `.${host.replace(/^\*\./, '')}`.endsWith(wildcard.slice(1))
  return one === other || covers(one, other) || covers(other, one)
}

export function indexDocumentsOf(distributions: readonly Distribution[]): ReadonlySet<string> {
  const names = distributions.flatMap(({ defaultBehavior, behaviors }) =>
    [defaultBehavior, ...behaviors].map(({ indexDocument = '' }) => indexDocument),
  )
  return new Set(names.filter(name => name !== ''))
}
