import { Type } from 'typebox'
import type { KmsKey as Key } from '../api.ts'
import { checkKeyId } from '../key-id.ts'

export const KmsStatus = Type.Object(
  {
    configured: Type.Boolean({ description: 'If false, SSE-S3 and SSE-KMS are refused; SSE-C is not.' }),
    backend: Type.String({ description: '`builtin`, or the kind of key server. Empty if not configured.' }),
    defaultKeyId: Type.String(),
    endpoints: Type.Array(Type.Object({ url: Type.String(), online: Type.Boolean() })),
    online: Type.Boolean(),
    error: Type.String({
      description:
        'Why it is not online, or which keys are missing, and what to do: master keys of stored objects, the default key, and keys that the default encryption of a bucket names.',
    }),
    version: Type.String({ description: 'Version of the key server.' }),
    formerKeys: Type.Optional(
      Type.Integer({
        description:
          'How many former master keys (`SVC_KMS_SECRET_KEY_PREVIOUS`) the running server has. What changed in the environment since its process was started does not count. Absent with a key server.',
      }),
    ),
  },
  { $id: 'KmsStatus' },
)

export const KmsKeyId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  errorMessage: checkKeyId('')!,
  description: `Id of a key: ${checkKeyId('')!.replace(/^must be /, '')}.`,
})

export const KmsKey = Type.Object(
  {
    id: Type.String(),
    createdAt: Type.Optional(Type.String({ format: 'date-time', description: 'Absent if unknown.' })),
    default: Type.Boolean({ description: 'Used if a request names no key.' }),
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
