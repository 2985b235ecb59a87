/** All operations of the catalogue: those that plugins contribute, and a placeholder for each of the others. */
import type { Contribution } from 'svc/kernel'
import type { AdminOperation } from './api.ts'
import { type CatalogueRow, catalogue, plannedOperation } from './catalogue.ts'

/** In the order of the catalogue, then operations that are not in it. Throws if a declaration contradicts the catalogue. */
export function completeOperations(contributions: readonly Contribution<AdminOperation>[]): readonly AdminOperation[] {
  const served = new Map<string, AdminOperation>()
  for (const { id, plugin, value } of contributions) {
    if (id !== value.id) throw new Error(`${plugin} contributes the operation ${value.id} as "${id}"`)
    served.set(value.id, value)
  }
  const operations = catalogue.map(row => {
    const operation = served.get(row.operationId)
    served.delete(row.operationId)
    if (operation === undefined) return plannedOperation(row)
    requireSame(operation, row)
    return operation
  })
  return [...operations, ...served.values()]
}

function requireSame({ id, method, path, tag }: AdminOperation, row: CatalogueRow): void {
  if (method === row.method && path === row.path && tag === row.group) return
  throw new Error(`${id} is ${method} ${path} (${tag}), the catalogue has ${row.method} ${row.path} (${row.group})`)
}
