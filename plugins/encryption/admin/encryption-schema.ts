import { Type } from 'typebox'
import type { BucketEncryption } from '../api.ts'

export const Encryption = Type.Object(
  {
    algorithm: Type.Union([Type.Literal('AES256'), Type.Literal('aws:kms')], {
      description: '`AES256` is SSE-S3, `aws:kms` SSE-KMS.',
    }),
    kmsKeyId: Type.Optional(Type.String({ maxLength: 2048, description: 'With `aws:kms`. Default: the default key.' })),
  },
  { $id: 'Encryption' },
)

export function describeEncryption({ algorithm, kmsKeyId }: BucketEncryption) {
  return { algorithm: algorithm!, ...(kmsKeyId === undefined ? undefined : { kmsKeyId }) }
}
