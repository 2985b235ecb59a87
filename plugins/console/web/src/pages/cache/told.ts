/** What is said of purges and of caches in front of a distribution, which are told after the own one and may refuse. */
import type { Answer } from '../../api/operations.ts'
import { cacheTexts } from '../../texts/cache.ts'

const words = cacheTexts.cachePurge

type Invalidation = Answer<'listInvalidations'>['items'][number]

export interface Purged extends Pick<Invalidation, 'state'> {
  readonly request: Pick<Invalidation['request'], 'domain' | 'paths' | 'patterns' | 'tags' | 'all'>
}

export type InFront = Pick<
  Answer<'listDistributionWebhooks'>['items'][number],
  'id' | 'domains' | 'online' | 'queued' | 'owesAll' | 'lastError'
>

export interface Told {
  readonly text: string
  readonly is: 'good' | 'poor' | 'bad'
}

const colours = { 'in-progress': 'poor', completed: 'good', failed: 'bad' } as const

/**
 * Caches that fail while something waits for them, and those where something was given up, even if they take the rest. What waits for one that
 * works is on its way, and a test that failed is no purge.
 */
export const behindOf = (inFront: readonly InFront[]): readonly InFront[] =>
  inFront.filter(({ online, queued, owesAll }) => owesAll || (online === false && queued > 0))

/** `inFront`: undefined where it is not known which ones there are. Which purges one waits for is not told: each may be one of them. */
export function toldOf({ state, request }: Purged, inFront: readonly InFront[] | undefined): Told {
  if (state !== 'completed') return { text: words.states[state], is: colours[state] }
  if (inFront === undefined) return { text: words.doneHere, is: 'good' }
  return behindOf(inFront).some(({ domains }) => isFor(request, domains))
    ? { text: words.doneHere, is: 'poor' }
    : { text: words.states.completed, is: 'good' }
}

/** Whether a cache in front of these domains (none: of all) is told of it. */
const isFor = (request: Purged['request'], domains: readonly string[]): boolean =>
  domains.length === 0 || hostsOf(request).some(host => host === undefined || domains.some(each => isAt(each, host)))

/** Where something is purged; undefined stands for every domain. Whole addresses and tags do not keep to the domain of the request. */
const hostsOf = ({ domain, paths, patterns, tags, all }: Purged['request']): (string | undefined)[] => [
  ...paths.map(path => hostOf(path) ?? domain),
  ...(domain !== undefined || all || patterns.length > 0 ? [domain] : []),
  ...(tags.length > 0 ? [undefined] : []),
]

const hostOf = (path: string): string | undefined => (URL.canParse(path) ? new URL(path).hostname : undefined)

const isAt = (alias: string, host: string): boolean =>
  alias === host || (alias.startsWith('*.') && host.endsWith(alias.slice(1)))
