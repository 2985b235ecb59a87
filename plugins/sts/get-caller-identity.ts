import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import { account, arnOf } from './principal.ts'

/** Whoever has credentials may know whose they are. */
export function getCallerIdentity({ identity }: QueryApiRequest): XmlValue {
  return { Arn: arnOf(identity), UserId: identity.accessKey, Account: account }
}
