/** Operations without those that others cover. */
import type { PurgeOperation } from './api.ts'

/** A hard purge covers a soft one, and not the other way round. */
const strong = (isSoft: boolean, by: { readonly isSoft: boolean } | undefined): boolean =>
  by !== undefined && (isSoft || !by.isSoft)

/** Whether an operation is covered by a wider one of these. */
export function coverOf(operations: readonly PurgeOperation[]): (operation: PurgeOperation) => boolean {
  const all = operations.filter(({ kind }) => kind === 'all')
  const everything = all.find(({ isSoft }) => !isSoft) ?? all[0]
  const domains = new Map<string, PurgeOperation>()
  const prefixes = new Map<string, (PurgeOperation & { kind: 'prefix' })[]>()
  for (const operation of operations) {
    if (operation.kind === 'domain' && !strong(operation.isSoft, domains.get(operation.host)))
      domains.set(operation.host, operation)
    if (operation.kind === 'prefix') prefixes.set(operation.host, [...(prefixes.get(operation.host) ?? []), operation])
  }
  return operation => {
    const { kind, isSoft } = operation
    if (operation !== everything && strong(isSoft, everything)) return true
    if (kind !== 'url' && kind !== 'prefix' && kind !== 'pattern') return false
    if (strong(isSoft, domains.get(operation.host))) return true
    const start = kind === 'pattern' ? operation.literal : operation.path
    return (prefixes.get(operation.host) ?? []).some(
      by => start.startsWith(by.path) && (kind !== 'prefix' || start !== by.path) && strong(isSoft, by),
    )
  }
}

export function reduceOperations(operations: readonly PurgeOperation[]): PurgeOperation[] {
  const isCovered = coverOf(operations)
  const kept = new Map<string, PurgeOperation>()
  for (const operation of operations) {
    if (isCovered(operation)) continue
    const { isSoft, ...what } = operation
    const key = JSON.stringify(what)
    const before = kept.get(key)
    if (!strong(isSoft, before)) kept.set(key, operation)
  }
  return [...kept.values()]
}
