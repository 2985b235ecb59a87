import { type Static, Type } from 'typebox'

/** An access key must not contain the separators of an Authorization header. */
const accessKeyPattern = /^[!-~]+$/
const reserved = /[,=/]/

/** Also read by `store`: without a master key, secrets at rest are sealed under it. */
export const rootPasswordKey = Type.String({
  description: 'Secret key of the root user, at least 8 characters.',
  variable: 'SVC_ROOT_PASSWORD',
  secret: true,
  check: checkRootPassword,
})

export const IamConfig = Type.Object({
  rootUser: Type.String({
    description: 'Access key of the root user: 3 to 128 visible ASCII characters without comma, equals sign and slash.',
    variable: 'SVC_ROOT_USER',
    secret: true,
    check: checkRootUser,
  }),
  rootPassword: rootPasswordKey,
})

export type IamConfig = Static<typeof IamConfig>

/** The problem with the value, which is never repeated; undefined if there is none. */
export function checkRootUser(value: string): string | undefined {
  if (value.length < 3) return 'must have at least 3 characters'
  if (value.length > 128) return 'must have at most 128 characters'
  if (!accessKeyPattern.test(value)) return 'must consist of visible ASCII characters'
  if (reserved.test(value)) return 'must not contain a comma, an equals sign or a slash'
  return undefined
}

/** The problem with the value, which is never repeated; undefined if there is none. */
export function checkRootPassword(value: string): string | undefined {
  if (value.length < 8) return 'must have at least 8 characters'
  if (value.length > 1024) return 'must have at most 1024 characters'
  return undefined
}
