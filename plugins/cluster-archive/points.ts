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
} as const
