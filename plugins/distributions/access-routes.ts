/** Distributions as ways into a bucket: which access a key has through them, and which of them show something to everybody. */
import type { AccessRouteFinder } from 'svc/plugins/access-rules/api'
import type { StoredDistribution } from './document.ts'
import { isPublicWebsite } from './log-target.ts'
import type { Registry } from './registry.ts'
import type { Ready } from './visit.ts'

export function createAccessRoutes(registry: Registry<Ready>): AccessRouteFinder {
  const serverOf = async (id: string, host: string) => {
    const found = (await registry.table()).hosts.find(host)?.value
    return found?.distribution.id === id ? found.server : undefined
  }
  return {
    async find(id) {
      const document = await registry.get(id)
      if (document === undefined) return undefined
      const { aliases, enabled, mode, origin, defaultBehavior } = document.value
      const host = exampleHost(aliases)
      const server = await serverOf(id, host)
      const { access = 'public' } = defaultBehavior
      return {
        bucket: origin.bucket,
        host,
        isEnabled: enabled,
        isWebsite: mode === 'website',
        accessOf(key) {
          if (!key.startsWith(origin.pathPrefix)) return undefined
          const path = `/${key.slice(origin.pathPrefix.length)}`
          return (server?.behaviorOf?.(inUrl(path)).access ?? access) as StoredDistribution['defaultBehavior']['access']
        },
      }
    },
    async publicRoutes(bucket) {
      const published = (await registry.all()).filter(
        ({ value }) => value.origin.bucket === bucket && value.enabled && isPublicWebsite(value),
      )
      const servers = await Promise.all(published.map(({ id, value }) => serverOf(id, exampleHost(value.aliases))))
      return published.flatMap(({ id, value }, index) => {
        const { aliases, origin, restrictions } = value
        const { sourceIp, originSecretHeader } = restrictions
        const isRestricted =
          (sourceIp?.allow ?? []).length + (sourceIp?.deny ?? []).length > 0 || originSecretHeader !== undefined
        const route = { id, domains: aliases, isRestricted, showsVersions: origin.versionPinning }
        const again = [...openedAgain(value), ...closedIndexes(value, servers[index])]
        return [
          { ...route, keys: publicKeysOf(value), except: closedKeysOf(value) },
          ...(again.length === 0 ? [] : [{ ...route, keys: again, except: [] }]),
        ]
      })
    },
  }
}

const inUrl = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

/** By the default behavior everything, apart from what other behaviors close; otherwise the patterns of the public ones. */
function publicKeysOf({ origin: { pathPrefix }, defaultBehavior, behaviors }: StoredDistribution): readonly string[] {
  if ((defaultBehavior.access ?? 'public') === 'public') return [`${pathPrefix}*`]
  return keysOf(pathPrefix, behaviors, access => access === 'public')
}

/** What other behaviors ask more for, where the default one shows everything. */
function closedKeysOf({ origin: { pathPrefix }, defaultBehavior, behaviors }: StoredDistribution): readonly string[] {
  if ((defaultBehavior.access ?? 'public') !== 'public') return []
  return keysOf(pathPrefix, behaviors, (access = 'public') => access !== 'public')
}

/**
 * What is shown although another behavior closes it: by a public one before it, or for unknown paths. Patterns that cannot be compared are taken for
 * overlapping: rather too much is told than too little.
 */
function openedAgain({ origin: { pathPrefix }, defaultBehavior, behaviors }: StoredDistribution): readonly string[] {
  const common = defaultBehavior.access ?? 'public'
  const isClosed = ({ access = common }: Behaviors[number]) => access !== 'public'
  const earlier = behaviors.filter(
    (behavior, index) =>
      !isClosed(behavior) &&
      behaviors.slice(index + 1).some(later => isClosed(later) && overlap(headOf(behavior), headOf(later))),
  )
  const fallbacks = [...behaviors, defaultBehavior].flatMap(({ access = common, spaFallback }) => {
    const path = `/${(spaFallback ?? defaultBehavior.spaFallback ?? '').replace(/^\//, '')}`
    const isElsewhereClosed =
      common !== 'public' || behaviors.some(one => isClosed(one) && overlap(headOf(one), path.toLowerCase()))
    return access === 'public' && path !== '/' && isElsewhereClosed ? [`${pathPrefix}${path.slice(1)}`] : []
  })
  return [...new Set([...keysOf(pathPrefix, earlier, () => true), ...fallbacks])]
}

/** Index documents that are shown for their folder, although a behavior closes their own path. */
function closedIndexes(
  { origin: { pathPrefix }, defaultBehavior, behaviors }: StoredDistribution,
  server: Ready['server'] | undefined,
): readonly string[] {
  const of = server?.behaviorOf
  if (of === undefined) return []
  const isPublic = (path: string) => (of(inUrl(path)).access ?? defaultBehavior.access ?? 'public') === 'public'
  const shownIn = (folder: string, name: string) => isPublic(folder) && !isPublic(folder + name)
  // The root, and folders that behaviors begin with; one that nobody has named stands for all others.
  const folders = new Set([
    '/',
    ...behaviors.map(({ pathPattern }) => literalOf(pathPattern).replace(/[^/]*$/, '') || '/'),
  ])
  const names = new Set([defaultBehavior, ...behaviors].flatMap(({ indexDocument }) => indexDocument ?? []))
  return [...names].flatMap(name => [
    ...(shownIn('/-/', name) ? [`${pathPrefix}**/${name}`] : []),
    ...[...folders].flatMap(folder => (shownIn(folder, name) ? [`${pathPrefix}${folder.slice(1)}${name}`] : [])),
  ])
}

/** Patterns may ignore case. */
const headOf = ({ pathPattern }: Behaviors[number]): string => literalOf(pathPattern).toLowerCase()

/** What each path begins with that matches; nothing is known of regular expressions. */
function literalOf({ type, pattern }: Behaviors[number]['pathPattern']): string {
  if (type === 'prefix') return pattern
  return type === 'glob' ? pattern.replace(/[*?{\\[].*$/s, '') : ''
}

const overlap = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

type Behaviors = StoredDistribution['behaviors']

function keysOf(pathPrefix: string, behaviors: Behaviors, isMeant: (access: Behaviors[number]['access']) => boolean) {
  return behaviors.flatMap(({ access, pathPattern: { type, pattern, caseInsensitive = false } }) => {
    if (!isMeant(access)) return []
    const flag = caseInsensitive && pattern.toLowerCase() !== pattern.toUpperCase() ? '(?i)' : ''
    // Of the path below the prefix, with its slash, and somewhere in it.
    if (type === 'regex') return [`${pathPrefix}* with a path that matches ${flag}${pattern}`]
    const path = pattern.replace(/^\//, '')
    return [`${pathPrefix}${flag}${path}${type === 'prefix' ? '*' : ''}`]
  })
}

/** An alias without wildcard, else a name below the first one. */
function exampleHost(aliases: readonly string[]): string {
  return aliases.find(alias => !alias.startsWith('*.')) ?? (aliases[0] ?? '').replace('*', 'www')
}
