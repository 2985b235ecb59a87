/** The configuration of the plugin `storage`: endpoints and backend, with the checks that hold for every backend. */
import { isAbsolute } from 'node:path'
import { type Static, Type } from 'typebox'
import { rangeProblem } from './ranges.ts'

export const StorageConfig = Type.Object({
  endpoints: Type.Array(Type.String(), {
    variable: 'SVC_ENDPOINTS',
    positional: true,
    description:
      'The location of the data: the absolute path of a folder, or the paths of several drives (`/mnt/d{1...4}` names four, which are a pool). Arguments of the command line take precedence.',
    check: checkEndpoints,
  }),
  backend: Type.String({
    variable: 'SVC_STORAGE_BACKEND',
    default: '',
    description:
      'Name of the storage backend: a contribution to the extension point storage.backend. Empty: `drive` for one folder, `erasure` for a set of several, `pools` for several sets.',
  }),
})

export type StorageConfig = Static<typeof StorageConfig>

/** Rules for every backend. Undefined, or the problem. */
export function checkEndpoints(endpoints: readonly string[]): string | undefined {
  if (endpoints.length === 0) return 'must name a drive, for example /var/lib/svc'
  const relative = endpoints.find(endpoint => !isAbsolute(endpoint) && !endpoint.includes('://'))
  if (relative !== undefined) return `must be absolute paths; ${JSON.stringify(relative)} is not`
  if (endpoints.some(endpoint => endpoint.includes('://')))
    return 'names a host: clusters are not built yet; name folders'
  return rangeProblem(endpoints)
}
