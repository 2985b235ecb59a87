import type { Identity } from 'svc/plugins/iam/api'

/** There are no accounts: the field has the length that clients expect. */
export const account = '000000000000'

/** The user's ARN in policies: `arn:aws:iam:::user/NAME`. */
export function arnOf(identity: Identity): string {
  const user = identity.userName ?? identity.accessKey
  if (identity.kind === 'session') return sessionArn(user, identity.accessKey)
  return identity.isRoot ? 'arn:aws:iam:::root' : `arn:aws:iam:::user/${user}`
}

export function sessionArn(user: string, session: string): string {
  return `arn:aws:sts:::assumed-role/${user}/${session}`
}
