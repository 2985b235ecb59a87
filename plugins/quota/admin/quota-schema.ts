import { Type } from 'typebox'

export const Quota = Type.Object(
  {
    type: Type.Union([Type.Literal('hard'), Type.Literal('')], { description: 'Empty where there is none.' }),
    size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Bytes; 0: no quota.' }),
  },
  { $id: 'Quota' },
)

export function describeQuota(sizeBytes: number) {
  return { type: sizeBytes === 0 ? ('' as const) : ('hard' as const), size: sizeBytes }
}
