import { defineAdminOperation } from 'svc/plugins/admin/api'
import { noAccessKey } from '../errors.ts'
import { AccessKey, AccessKeyParameters, describeAccessKey } from './access-key-schema.ts'
import { callerOf } from './caller.ts'

export default defineAdminOperation({
  id: 'getAccessKey',
  method: 'GET',
  path: '/access-keys/{accessKey}',
  tag: 'access-keys',
  summary: 'Returns an access key, without its secret.',
  authorize: 'service',
  params: AccessKeyParameters,
  response: AccessKey,
  etag: true,
  errors: ['access_key_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const key = await users.getAccessKey(callerOf(request), request.params.accessKey)
    // Share links have their own operations.
    if (key.kind === 'share') throw noAccessKey(request.params.accessKey)
    return describeAccessKey(key)
  },
})
