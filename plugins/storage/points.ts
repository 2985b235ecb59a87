/** What may keep the data. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const storagePoints = {
  'storage.backend': {
    cardinality: 'many',
    schema: Type.Object(
      { validate: method, inspect: Type.Optional(method), create: method },
      { description: 'A way of keeping records and blobs; its id is what SVC_STORAGE_BACKEND names.' },
    ),
  },
} as const
