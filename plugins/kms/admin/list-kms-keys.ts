import {
  adminErrors,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { notConfiguredTitle } from '../errors.ts'
import { describeKey, KmsKey } from './kms-schema.ts'

export default defineAdminOperation({
  id: 'listKmsKeys',
  method: 'GET',
  path: '/kms/keys',
  tag: 'kms',
  summary: 'Lists the keys under which objects can be encrypted, by id.',
  authorize: ['admin:KMSKeyStatus'],
  query: Type.Object(pageParameters),
  response: pageOf(KmsKey),
  errors: ['kms_unavailable', 'not_implemented'],
  uses: ['kms'],
  async handle({ query: { cursor, limit } }, { kms }) {
    if (!kms.isConfigured) throw adminErrors.not_implemented(notConfiguredTitle)
    const { keys, next } = await kms.listKeys({ startAfter: decodeCursor(cursor) ?? '', limit })
    return { items: keys.map(describeKey), nextCursor: encodeCursor(next) }
  },
})
