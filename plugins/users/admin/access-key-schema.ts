import { type Static, Type } from 'typebox'
import type { AccessKey as AccessKeyOfService } from '../api.ts'
import { StoredPolicy } from './policy-document-schema.ts'
import { Status, Time } from './user-schema.ts'

export const AccessKeyParameters = Type.Object({ accessKey: Type.String({ minLength: 1, maxLength: 128 }) })

export const KeyName = Type.String({ maxLength: 64 })
export const Expiry = Type.String({ format: 'date-time', description: 'In the future.' })

export const AccessKey = Type.Object(
  {
    accessKey: Type.String(),
    user: Type.String({ description: 'The user whose rights it has.' }),
    name: Type.String(),
    description: Type.String(),
    status: Status,
    state: Type.Union([Type.Literal('active'), Type.Literal('disabled'), Type.Literal('expired')], { readOnly: true }),
    expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    policy: Type.Union([StoredPolicy, Type.Null()], {
      description: 'Limits the rights of the user; null: all of them.',
    }),
    createdAt: Time,
    createdBy: Type.String({ readOnly: true }),
    updatedAt: Time,
    etag: Type.String({ readOnly: true }),
    lastUsedAt: Type.Optional({ ...Time, description: 'Start of the hour of the last request.' }),
  },
  { $id: 'AccessKey' },
)

export const AccessKeyPair = Type.Object(
  { accessKey: Type.String(), secretKey: Type.String({ description: 'Shown this once.' }) },
  { $id: 'AccessKeyPair' },
)

export function describeAccessKey(key: AccessKeyOfService): Static<typeof AccessKey> {
  const { accessKey, user, name, description, status, state, expiresMs, policy, createdBy, etag } = key
  return {
    accessKey,
    user,
    name,
    description,
    status,
    state,
    expiresAt: expiresMs === undefined ? null : new Date(expiresMs).toISOString(),
    policy: policy === undefined ? null : { ...policy },
    createdAt: new Date(key.createdMs).toISOString(),
    createdBy,
    updatedAt: new Date(key.updatedMs).toISOString(),
    etag,
    ...(key.lastUsedMs === undefined ? {} : { lastUsedAt: new Date(key.lastUsedMs).toISOString() }),
  }
}
