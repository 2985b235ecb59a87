import { defineErrors } from 'svc/kernel'

export const sessionErrors = defineErrors({
  ambiguous_session: {
    status: 401,
    title: 'The browser has sent cookies of two sessions. Both have ended: sign in again.',
  },
  cross_site_request: { status: 403, title: 'A page of another site cannot log in here.' },
  invalid_credentials: { status: 401, title: 'The access key or the secret key is wrong.' },
  too_many_requests: { status: 429, title: 'Too many failed logins. Try again later.' },
})
