import { defineAdminOperation } from 'svc/plugins/admin/api'
import { AccessKeyParameters } from './access-key-schema.ts'
import { callerOf } from './caller.ts'

export default defineAdminOperation({
  id: 'deleteAccessKey',
  method: 'DELETE',
  path: '/access-keys/{accessKey}',
  tag: 'access-keys',
  summary:
    'Deletes an access key, and share links that were made with it while it was limited. The next request is refused. Access keys that it made for its user stay: `createdBy` of listAccessKeys names them.',
  authorize: 'service',
  params: AccessKeyParameters,
  errors: ['access_key_not_found'],
  uses: ['users'],
  handle: (request, { users }) => users.deleteAccessKey(callerOf(request), request.params.accessKey),
})
