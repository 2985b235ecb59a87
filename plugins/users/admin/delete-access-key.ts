import { defineAdminOperation } from 'svc/plugins/admin/api'
import { AccessKeyParameters } from './access-key-schema.ts'
import { callerOf } from './caller.ts'

export default defineAdminOperation({
  id: 'deleteAccessKey',
  method: 'DELETE',
  path: '/access-keys/{accessKey}',
  tag: 'access-keys',
  summary:
    'Deletes an access key, and the share links that were created with it while it was restricted. The next request is refused. Access keys that it created for its user stay: `createdBy` of listAccessKeys names it.',
  authorize: 'service',
  params: AccessKeyParameters,
  errors: ['access_key_not_found'],
  uses: ['users'],
  handle: (request, { users }) => users.deleteAccessKey(callerOf(request), request.params.accessKey),
})
