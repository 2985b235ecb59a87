/** The extension points of the plugin `storage`. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const storagePoints = {
  'storage.backend': {
    cardinality: 'many',
    schema: Type.Object(
      { validate: method, ignored: Type.Optional(method), inspect: Type.Optional(method), create: method },
      { description: 'A storage backend for records and blobs; SVC_STORAGE_BACKEND selects one by its id.' },
    ),
  },
} as const
