import { Type } from 'typebox'
import type { CorsRule } from '../rules.ts'

const Texts = Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1000, default: [] })

export const Cors = Type.Object(
  {
    rules: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String({ maxLength: 1024 })),
        allowedOrigins: Texts,
        allowedMethods: Texts,
        allowedHeaders: Texts,
        exposeHeaders: Texts,
        maxAgeSeconds: Type.Optional(Type.Integer()),
      }),
      { maxItems: 1000, description: 'Evaluated in order, at most 100; empty: none.' },
    ),
  },
  { $id: 'Cors' },
)

export function describeCors(rules: readonly CorsRule[]) {
  return { rules: rules.map(rule => ({ ...rule })) }
}
