import { isAbsolute } from 'node:path'
import { type Static, Type } from 'typebox'

export const StorageConfig = Type.Object({
  endpoints: Type.Array(Type.String(), {
    variable: 'SVC_ENDPOINTS',
    positional: true,
    description: 'Where the data lies: the absolute path of a folder. Arguments of the command line win.',
    check: checkEndpoints,
  }),
  backend: Type.String({
    variable: 'SVC_STORAGE_BACKEND',
    default: 'drive',
    description: 'Name of the storage backend: a contribution to the extension point storage.backend.',
  }),
})

export type StorageConfig = Static<typeof StorageConfig>

const range = /\{\d+\.\.\.\d+\}/

/** What holds for every backend. Undefined, or what is wrong. */
export function checkEndpoints(endpoints: readonly string[]): string | undefined {
  if (endpoints.length === 0) return 'must name a drive, for example /var/lib/svc'
  const relative = endpoints.find(endpoint => !isAbsolute(endpoint) && !endpoint.includes('://'))
  if (relative !== undefined) return `must be absolute paths; ${JSON.stringify(relative)} is not`
  const several = endpoints.length > 1 || range.test(endpoints[0]!)
  if (several) return 'names several drives: erasure sets are not built yet; name one folder'
  if (endpoints[0]!.includes('://')) return 'names a host: clusters are not built yet; name one folder'
  return undefined
}
