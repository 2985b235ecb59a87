import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import { account, arnOf } from './principal.ts'

/** Every caller with credentials may read its own identity. */
export function getCallerIdentity({ identity }: QueryApiRequest): XmlValue {
  return { Arn: arnOf(identity), UserId: identity.accessKey, Account: account }
}
