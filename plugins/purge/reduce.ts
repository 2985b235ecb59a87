/** Operations without those that others cover. */
import type { PurgeOperation } from './api.ts'

/** A hard purge covers a soft one, and not the other way round. */
export function reduceOperations(operations: readonly PurgeOperation[]): PurgeOperation[] {
  const all = operations.filter(({ kind }) => kind === 'all')
  const everything = all.find(({ isSoft }) => !isSoft) ?? all[0]
  const strong = (isSoft: boolean, by: { readonly isSoft: boolean } | undefined) =>
    by !== undefined && (isSoft || !by.isSoft)
  const domains = new Map<string, PurgeOperation>()
  const prefixes = new Map<string, (PurgeOperation & { kind: 'prefix' })[]>()
  for (const operation of operations) {
    if (operation.kind === 'domain' && !strong(operation.isSoft, domains.get(operation.host)))
      domains.set(operation.host, operation)
    if (operation.kind === 'prefix') prefixes.set(operation.host, [...(prefixes.get(operation.host) ?? []), operation])
  }
  const kept = new Map<string, PurgeOperation>()
  for (const operation of operations) {
    const { kind, isSoft } = operation
    if (operation !== everything && strong(isSoft, everything)) continue
    if (kind === 'url' || kind === 'prefix' || kind === 'pattern') {
      if (strong(isSoft, domains.get(operation.host))) continue
      const start = kind === 'pattern' ? operation.literal : operation.path
      const isCovered = prefixes
        .get(operation.host)
        ?.some(by => by !== operation && start.startsWith(by.path) && start !== by.path && strong(isSoft, by))
      if (
        isCovered ||
        (kind === 'url' && prefixes.get(operation.host)?.some(by => by.path === start && strong(isSoft, by)))
      )
        continue
    }
    const { isSoft: _, ...what } = operation
    const key = JSON.stringify(what)
    const before = kept.get(key)
    if (!strong(isSoft, before)) kept.set(key, operation)
  }
  return [...kept.values()]
}
