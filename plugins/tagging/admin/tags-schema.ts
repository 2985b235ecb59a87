import { Type } from 'typebox'

export const Tags = Type.Object(
  { tags: Type.Record(Type.String(), Type.String(), { description: 'Empty: none.' }) },
  { $id: 'Tags' },
)
