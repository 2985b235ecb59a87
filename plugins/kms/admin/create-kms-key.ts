import { adminErrors, checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { notConfiguredTitle } from '../errors.ts'
import { describeKey, KmsKey, KmsKeyId } from './kms-schema.ts'

export default defineAdminOperation({
  id: 'createKmsKey',
  method: 'POST',
  path: '/kms/keys',
  tag: 'kms',
  summary: 'Creates a key under which objects can be encrypted.',
  authorize: ['admin:KMSCreateKey'],
  body: Type.Object({ id: KmsKeyId }, { $id: 'NewKmsKey' }),
  response: KmsKey,
  location: ({ id }) => `/kms/keys/${id}`,
  errors: ['already_exists', 'kms_unavailable', 'not_implemented'],
  uses: ['kms'],
  async handle({ body: { id } }, { kms }) {
    if (!kms.isConfigured) throw adminErrors.not_implemented(notConfiguredTitle)
    return describeKey(await checkField('/id', () => kms.createKey(id), ['already_exists']))
  },
})
