import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import type {} from '../service.ts'

export default defineAdminOperation({
  id: 'logout',
  method: 'POST',
  path: '/auth/logout',
  tag: 'session',
  summary: 'Ends the console session and clears its cookie.',
  authorize: 'session',
  uses: ['runningSessions'],
  handle({ session, exchange }, { runningSessions: { cookies } }) {
    session!.end()
    return replyWith(undefined, { headers: { 'set-cookie': cookies.clear(cookies.isSecure(exchange)) } })
  },
})
