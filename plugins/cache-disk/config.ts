import { isAbsolute } from 'node:path'
import { type Static, Type } from 'typebox'

export const CacheDiskConfig = Type.Object({
  dir: Type.Optional(
    Type.String({
      variable: 'SVC_CACHE_DIR',
      format: 'path',
      description:
        'Folder for cached answers behind those in memory: an empty one, on a file system that need not be safe. Without it they are in memory only.',
      check: (path: string) => (isAbsolute(path) ? undefined : 'must be an absolute path'),
    }),
  ),
  size: Type.Optional(
    Type.Integer({
      variable: 'SVC_CACHE_SIZE',
      format: 'size',
      defaultText: '10GiB',
      minimum: 16 * 1024 * 1024,
      description: 'Space that cached answers may take in `SVC_CACHE_DIR`.',
    }),
  ),
})

export const sizeDefault = 10 * 1024 ** 3

export const validateCacheDiskConfig = ({ dir, size }: CacheDiskConfig): readonly string[] =>
  dir === undefined && size !== undefined
    ? [
        'SVC_CACHE_SIZE is of the folder SVC_CACHE_DIR: set that too, or none of them. SVC_CACHE_MEMORY is for the memory',
      ]
    : []

export type CacheDiskConfig = Static<typeof CacheDiskConfig>
