/** The storage backend `drive`, which serves one folder of one file system. The plugin's `index.ts` contributes it. */
import { isAbsolute } from 'node:path'
import type { StorageBackend, StorageBackendOptions } from 'svc/plugins/storage/api'
import type { DrivesService } from './api.ts'

export function validateEndpoints(endpoints: readonly string[]): string[] {
  if (endpoints.length === 0) return ['No drive is named.']
  if (endpoints.length > 1)
    return [
      'The storage backend "drive" serves one folder. Name one folder, or use the backend "erasure" for a set of several.',
    ]
  const [path] = endpoints as [string]
  return isAbsolute(path) ? [] : [`The drive path ${JSON.stringify(path)} is not absolute.`]
}

export function createBackend(options: StorageBackendOptions, drives: Pick<DrivesService, 'create'>): StorageBackend {
  const { procedures, derive, threads, ports, log } = options
  const path = options.endpoints[0]!
  return drives.create({ path, name: 'storage', procedures, derive, threads, ports, log, isAlone: true })
}
