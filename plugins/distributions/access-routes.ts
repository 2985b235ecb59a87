/** Distributions for tests of access rules: which access a key of the bucket has through them. */
import type { AccessRouteFinder } from 'svc/plugins/access-rules/api'
import type { StoredDistribution } from './document.ts'
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
  }
}

/** An alias without wildcard, else a name below the first one. */
function exampleHost(aliases: readonly string[]): string {
  return aliases.find(alias => !alias.startsWith('*.')) ?? (aliases[0] ?? '').replace('*', 'www')
}
