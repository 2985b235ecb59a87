import { Type } from 'typebox'
import type { CorsRule } from '../rules.ts'

const Texts = Type.Array(Type.String(), { default: [] })

export const Cors = Type.Object(
  {
    rules: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String()),
        allowedOrigins: Texts,
        allowedMethods: Texts,
        allowedHeaders: Texts,
        exposeHeaders: Texts,
        maxAgeSeconds: Type.Optional(Type.Integer()),
      }),
      { description: 'Evaluated in order, at most 100; empty: none.' },
    ),
  },
  { $id: 'Cors' },
)

export function describeCors(rules: readonly CorsRule[]) {
  return { rules: rules.map(rule => ({ ...rule })) }
}
