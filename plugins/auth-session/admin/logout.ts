import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { clearedSessionCookie } from '../cookie.ts'

export default defineAdminOperation({
  id: 'logout',
  method: 'POST',
  path: '/auth/logout',
  tag: 'session',
  summary: 'Ends the console session and clears its cookie.',
  authorize: 'session',
  handle({ session, exchange }) {
    session!.end()
    return replyWith(undefined, { headers: { 'set-cookie': clearedSessionCookie(exchange.secure) } })
  },
})
