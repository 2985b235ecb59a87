import { Type } from 'typebox'

export const Tags = Type.Object(
  {
    tags: Type.Record(Type.String({ maxLength: 1024 }), Type.String({ maxLength: 1024 }), {
      maxProperties: 500,
      description: 'Empty: none.',
    }),
  },
  { $id: 'Tags' },
)
