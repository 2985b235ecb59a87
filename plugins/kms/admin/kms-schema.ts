import { Type } from 'typebox'
import type { KmsKey as Key } from '../api.ts'
import { checkKeyId } from '../key-id.ts'

export const KmsStatus = Type.Object(
  {
    configured: Type.Boolean({ description: 'Without, SSE-S3 and SSE-KMS are refused; SSE-C is not.' }),
    backend: Type.String({ description: '`builtin`, or the kind of key server. Empty without.' }),
    defaultKeyId: Type.String(),
    endpoints: Type.Array(Type.Object({ url: Type.String(), online: Type.Boolean() })),
    online: Type.Boolean(),
    error: Type.String({ description: 'Why it is not online, or which master keys are missing, and what to do.' }),
    version: Type.String({ description: 'Of the key server.' }),
  },
  { $id: 'KmsStatus' },
)

export const KmsKeyId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  description: `Of a key: ${checkKeyId('')!.replace(/^must be /, '')}.`,
})

export const KmsKey = Type.Object(
  {
    id: Type.String(),
    createdAt: Type.Optional(Type.String({ format: 'date-time', description: 'Where it is known.' })),
    default: Type.Boolean({ description: 'Seals where no key is named.' }),
  },
  { $id: 'KmsKey' },
)

export function describeKey({ id, createdMs, isDefault }: Key) {
  return {
    id,
    ...(createdMs === undefined ? undefined : { createdAt: new Date(createdMs).toISOString() }),
    default: isDefault,
  }
}
