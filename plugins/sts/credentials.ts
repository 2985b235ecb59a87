import type { XmlValue } from 'svc/plugins/s3/api'
import type { NewSession } from 'svc/plugins/users/api'

export function describeCredentials(session: NewSession): XmlValue {
  return {
    AccessKeyId: session.accessKey,
    SecretAccessKey: session.secretKey,
    SessionToken: session.sessionToken,
    Expiration: new Date(session.expiresMs).toISOString(),
  }
}
