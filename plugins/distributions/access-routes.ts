/** Distributions as ways into a bucket: which access a key has through them, and which of them show something to everybody. */
import type { AccessRouteFinder } from 'svc/plugins/access-rules/api'
import type { StoredDistribution } from './document.ts'
import { isPublicWebsite } from './log-target.ts'
import type { Registry } from './registry.ts'
import type { Ready } from './visit.ts'

export function createAccessRoutes(registry: Registry<Ready>): AccessRouteFinder {
  return {
    async find(id) {
      const document = await registry.get(id)
      if (document === undefined) return undefined
      const { aliases, enabled, mode, origin, defaultBehavior } = document.value
      const host = exampleHost(aliases)
      const found = (await registry.table()).hosts.find(host)?.value
      const server = found?.distribution.id === id ? found.server : undefined
      const { access = 'public' } = defaultBehavior
      return {
        bucket: origin.bucket,
        host,
        isEnabled: enabled,
        isWebsite: mode === 'website',
        accessOf(key) {
          if (!key.startsWith(origin.pathPrefix)) return undefined
          const path = `/${key.slice(origin.pathPrefix.length).split('/').map(encodeURIComponent).join('/')}`
          return (server?.behaviorOf?.(path).access ?? access) as StoredDistribution['defaultBehavior']['access']
        },
      }
    },
    async publicRoutes(bucket) {
      return (await registry.all()).flatMap(({ id, value }) => {
        const { aliases, enabled, origin, restrictions } = value
        if (origin.bucket !== bucket || !enabled || !isPublicWebsite(value)) return []
        const { sourceIp, originSecretHeader } = restrictions
        const isRestricted =
          (sourceIp?.allow ?? []).length + (sourceIp?.deny ?? []).length > 0 || originSecretHeader !== undefined
        const route = { id, domains: aliases, isRestricted }
        const again = openedAgain(value)
        return [
          { ...route, keys: publicKeysOf(value), except: closedKeysOf(value) },
          ...(again.length === 0 ? [] : [{ ...route, keys: again, except: [] }]),
        ]
      })
    },
  }
}

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

/** What each path has that matches; nothing is known of regular expressions. */
function headOf({ pathPattern: { type, pattern } }: Behaviors[number]): string {
  // Patterns may ignore case.
  if (type === 'prefix') return pattern.toLowerCase()
  return type === 'glob' ? pattern.replace(/[*?{\\[].*$/s, '').toLowerCase() : ''
}

const overlap = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

type Behaviors = StoredDistribution['behaviors']

function keysOf(pathPrefix: string, behaviors: Behaviors, isMeant: (access: Behaviors[number]['access']) => boolean) {
  return behaviors.flatMap(({ access, pathPattern: { type, pattern } }) => {
    if (!isMeant(access)) return []
    if (type === 'regex') return [`${pathPrefix}${pattern}`]
    const path = pattern.replace(/^\//, '')
    return [`${pathPrefix}${path}${type === 'prefix' ? '*' : ''}`]
  })
}

/** An alias without wildcard, else a name below the first one. */
function exampleHost(aliases: readonly string[]): string {
  return aliases.find(alias => !alias.startsWith('*.')) ?? (aliases[0] ?? '').replace('*', 'www')
}
