import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const archivePoints = {
  'archive.section': {
    cardinality: 'many',
    schema: Type.Object(
      {
        documents: Type.Object({ name: Type.String({ minLength: 1 }), read: method, check: method, stage: method }),
        problem: Type.Optional(method),
      },
      { description: 'A kind of settings of buckets, as the archive of the cluster carries them.' },
    ),
  },
  'archive.part': {
    cardinality: 'many',
    schema: Type.Object(
      {
        schema: Type.Object({}),
        after: Type.Optional(Type.Array(Type.String())),
        read: method,
        problems: method,
        apply: method,
        remove: method,
      },
      { description: 'Documents that belong to no bucket, as the archive of the cluster carries them.' },
    ),
  },
} as const
