/** The condition keys that follow from who asks. The engine adds them to every request, so that no caller can forget them. */
import type { Identity } from 'svc/plugins/iam/api'

/** The user whose rights an identity has: the owner of an access key. */
export function userNameOf(identity: Identity): string {
  return identity.userName ?? identity.accessKey
}

/** Values of `aws:username` and its like by lower-case key; undefined for keys of something else, and where there is no value. */
export function principalValues(identity: Identity | undefined, key: string): readonly string[] | undefined {
  if (key === 'aws:principaltype') return [identity === undefined ? 'Anonymous' : typeOf(identity)]
  if (identity === undefined) return undefined
  switch (key) {
    case 'aws:username':
      return [userNameOf(identity)]
    case 'aws:userid':
      return [identity.accessKey]
    case 'aws:principalarn':
      return [`arn:aws:iam:::user/${userNameOf(identity)}`]
    case 'aws:groups':
      return identity.groups
  }
  const { claims } = identity
  return claims !== undefined && Object.hasOwn(claims, key) ? claims[key] : undefined
}

/** Keys that `principalValues` alone decides: nothing in a request can claim them. */
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
