import { Type } from 'typebox'

export const Versioning = Type.Object(
  { status: Type.Union([Type.Literal('off'), Type.Literal('enabled'), Type.Literal('suspended')]) },
  { $id: 'Versioning' },
)
