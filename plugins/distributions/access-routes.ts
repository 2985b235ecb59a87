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
        return [{ id, domains: aliases, keys: publicKeysOf(value), except: closedKeysOf(value), isRestricted }]
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
