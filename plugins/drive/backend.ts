/** The storage backend `drive`: one folder of one file system. */
import { isAbsolute } from 'node:path'
import type { StorageBackend, StorageBackendOptions } from 'svc/plugins/storage/api'
import type { DrivesService } from './api.ts'

export function validateEndpoints(endpoints: readonly string[]): string[] {
  if (endpoints.length === 0) return ['No drive is named.']
  if (endpoints.length > 1) return ['Several drives are not built yet: erasure sets are to come. Name one folder.']
  const [path] = endpoints as [string]
  return isAbsolute(path) ? [] : [`The drive path ${JSON.stringify(path)} is not absolute.`]
}

export function createBackend(options: StorageBackendOptions, drives: Pick<DrivesService, 'create'>): StorageBackend {
  const { procedures, derive, threads, ports, log } = options
  return drives.create({ path: options.endpoints[0]!, name: 'storage', procedures, derive, threads, ports, log })
}
