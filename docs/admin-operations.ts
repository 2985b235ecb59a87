/** What `svcctl admin` is made of: the served operations of the Admin API, as its own document describes them. */

import { createDocument } from '../plugins/admin/openapi.ts'
import { completeOperations } from '../plugins/admin/operations.ts'
import type { Declarations } from './declarations.ts'

/** Relative to the repository. */
export const adminOperationsFile = 'contrib/svcctl/admin/operations.json'

interface Described {
  readonly responses: Readonly<Record<string, unknown>>
}

/** Without what is the same for all of them: failures are problem documents, and svcctl knows those. */
export function describeAdminOperations({ adminOperations, adminCatalogue }: Declarations): object {
  const served = completeOperations(adminOperations).filter(({ plannedBy }) => plannedBy === undefined)
  const { paths, components } = createDocument(served, adminCatalogue, '')
  const { Problem: _, ...schemas } = (components as { schemas: Record<string, unknown> }).schemas
  return {
    paths: mapValues(paths as Record<string, Record<string, Described>>, methods =>
      mapValues(methods, ({ responses, ...operation }) => ({
        ...operation,
        responses: Object.fromEntries(Object.entries(responses).filter(([status]) => status.startsWith('2'))),
      })),
    ),
    schemas,
  }
}

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
