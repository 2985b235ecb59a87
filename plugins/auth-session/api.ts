/** The face of `auth-session`. Its service `authSession` is declared by `iam`. */
export { hasSessionCookie } from './cookie.ts'
export { browserRedirectUrlKey } from './keys.ts'
