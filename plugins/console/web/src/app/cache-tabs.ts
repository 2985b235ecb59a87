/** The tabs of the cache's page, which are part of its address, and who sees them: any of these rights is enough. */
export const cacheTabs = ['statistics', 'purge', 'warmup', 'inspect', 'policies', 'settings'] as const
export type CacheTab = (typeof cacheTabs)[number]

export const needsOf: Readonly<Record<CacheTab, readonly string[]>> = {
  statistics: ['admin:ManageCache', 'admin:InvalidateCache', 'admin:ServerInfo'],
  purge: ['admin:InvalidateCache'],
  warmup: ['admin:InvalidateCache'],
  inspect: ['admin:ManageCache', 'admin:InvalidateCache'],
  policies: ['admin:ManageCache'],
  settings: ['admin:ManageCache'],
}
