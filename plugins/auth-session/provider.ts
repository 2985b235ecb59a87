import type { Authentication, AuthProvider, AuthSessionService } from 'svc/plugins/iam/api'

const plainBody: Pick<Authentication, 'payload' | 'createDecoder'> = {
  payload: { kind: 'unsigned' },
  createDecoder: () => undefined,
}

/** Sessions as the provider `session` of `auth.provider`: good for the Admin API alone. A cookie that names none is no credentials. */
export function createSessionProvider(sessions: Pick<AuthSessionService, 'find'>): AuthProvider {
  return {
    authenticate({ api, headers, secure, host }) {
      if (api !== 'admin' || headers.authorization) return undefined
      const session = sessions.find({ request: { headers }, secure, host })
      return session && { identity: session.identity, method: 'session', session, ...plainBody }
    },
  }
}
