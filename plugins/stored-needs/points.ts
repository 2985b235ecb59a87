/** The extension point by which plugins declare needs of the data that they store. */
import { recordFeatures } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

export const storedNeedsPoints = {
  'stored.need': {
    cardinality: 'many',
    schema: Type.Object(
      {
        sign: Type.Union([
          Type.Object({ kind: Type.Literal('bucket-document'), name: Type.String({ minLength: 1 }) }),
          Type.Object({ kind: Type.Literal('document'), name: Type.String({ minLength: 1 }) }),
          Type.Object({ kind: Type.Literal('record'), name: Type.Enum(Object.keys(recordFeatures)) }),
        ]),
        has: Type.String({ minLength: 1 }),
        consequence: Type.String({ minLength: 1 }),
      },
      { description: 'Stored data that a server must not ignore: a start without the plugin is refused.' },
    ),
  },
} as const
