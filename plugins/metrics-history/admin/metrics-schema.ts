import { Type } from 'typebox'

export const FamilyType = Type.Union([Type.Literal('counter'), Type.Literal('gauge'), Type.Literal('histogram')])
