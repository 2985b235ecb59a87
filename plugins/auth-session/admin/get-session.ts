import { defineAdminOperation } from 'svc/plugins/admin/api'
import { describeSession, Session } from './session-schema.ts'

export default defineAdminOperation({
  id: 'getSession',
  method: 'GET',
  path: '/auth/session',
  tag: 'session',
  summary: 'Returns the console session of the cookie, with its CSRF token. Signed requests have none: 401.',
  authorize: 'session',
  response: Session,
  handle: ({ session }) => describeSession(session!),
})
