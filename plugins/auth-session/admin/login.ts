import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { sessionErrors } from '../errors.ts'
import type {} from '../service.ts'
import { describeSession, Session } from './session-schema.ts'

const LoginRequest = Type.Object(
  {
    accessKey: Type.String({ minLength: 1, maxLength: 128 }),
    secretKey: Type.String({ minLength: 1, maxLength: 1024, format: 'password' }),
  },
  { $id: 'LoginRequest' },
)

export default defineAdminOperation({
  id: 'login',
  method: 'POST',
  path: '/auth/login',
  tag: 'session',
  summary: 'Begins a console session: sets the cookie, and returns the CSRF token in the body only.',
  authorize: 'public',
  body: LoginRequest,
  bodyBytesMax: 16 * 1024,
  response: Session,
  errors: ['cross_site_request', 'invalid_credentials', 'too_many_requests', 'unsupported_media_type'],
  uses: ['runningSessions'],
  handle({ body, exchange }, { runningSessions: sessions }) {
    if (sessions.originOf(exchange) === 'foreign') throw sessionErrors.cross_site_request()
    const identity = sessions.verify(exchange.clientAddress, body.accessKey, body.secretKey)
    if (identity === undefined) throw sessionErrors.invalid_credentials()
    // Whatever session the browser had ends, so that nobody can have prepared it.
    sessions.endNamed(exchange)
    const { cookie, session } = sessions.begin(identity)
    const { cookies, lifetimeMs } = sessions
    return replyWith(describeSession(session), {
      headers: { 'set-cookie': cookies.set(cookie, cookies.isSecure(exchange), lifetimeMs / 1000) },
      identity,
    })
  },
})
