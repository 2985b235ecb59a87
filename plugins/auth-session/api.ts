/** The face of `auth-session`. Its service `authSession` is declared by `iam`. */
export { browserRedirectUrlKey } from './keys.ts'
