/** The condition keys that depend on the caller. The engine adds them to every request, so that no caller can omit them. */
import type { Identity } from 'svc/plugins/iam/api'

/** The user whose rights an identity has: for an access key its owner. */
export function userNameOf(identity: Identity): string {
  return identity.userName ?? identity.accessKey
}

/** Values of `aws:username` and similar keys, by lower-case key; undefined for other keys, and without a value. */
export function principalValues(identity: Identity | undefined, key: string): readonly string[] | undefined {
  if (key === 'aws:principaltype') return [identity === undefined ? 'Anonymous' : typeOf(identity)]
  if (identity === undefined) return undefined
  switch (key) {
    case 'aws:username':
    // Not the access key: its name may be chosen by whoever makes it, also as that of a user who is gone.
    case 'aws:userid':
      return [userNameOf(identity)]
    case 'aws:principalarn':
      return [`arn:aws:iam:::user/${userNameOf(identity)}`]
    case 'aws:groups':
      return identity.groups
  }
  const { claims } = identity
  return claims !== undefined && Object.hasOwn(claims, key) ? claims[key] : undefined
}

/** Keys whose values come from `principalValues` only: a request cannot set them. */
export function isPrincipalKey(key: string): boolean {
  switch (key) {
    case 'aws:principaltype':
    case 'aws:username':
    case 'aws:userid':
    case 'aws:principalarn':
    case 'aws:groups':
      return true
  }
  return key.startsWith('jwt:') || key.startsWith('ldap:')
}

function typeOf(identity: Identity): string {
  if (identity.isRoot === true) return 'Root'
  switch (identity.kind) {
    case 'access-key':
      return 'AccessKey'
    case 'share':
      return 'Share'
  }
  return 'User'
}
