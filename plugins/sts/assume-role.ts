import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import type { UsersService } from 'svc/plugins/users/api'
import { stsErrors } from './errors.ts'
import { sessionArn } from './principal.ts'

const durationSecondsDefault = 3600
const policyCharsMax = 2048

/** The role is taken as a name: there are no roles here, and a session has the rights of who asks for it. */
const known: ReadonlySet<string> = new Set(['RoleArn', 'RoleSessionName', 'DurationSeconds', 'Policy', 'ExternalId'])

/** What would limit the session, or mark it: ignoring it would give more than was asked for. */
const unbuilt = /^(PolicyArns|Tags|TransitiveTagKeys|SourceIdentity|SerialNumber|TokenCode|ProvidedContexts)\b/

/** Temporary credentials with the caller's rights, or, with `Policy`, with those of them that it allows. */
export function createAssumeRole(users: Pick<UsersService, 'createSession'>) {
  return async ({ identity, parameters }: QueryApiRequest): Promise<XmlValue> => {
    for (const name of parameters.keys()) {
      if (unbuilt.test(name)) throw stsErrors.NotImplemented(`The parameter ${name.split('.')[0]} is not implemented.`)
      if (!known.has(name)) throw stsErrors.ValidationError('There is a parameter that AssumeRole does not have.')
    }
    const sessionName = parameters.get('RoleSessionName')
    if (sessionName === undefined) throw stsErrors.ValidationError('RoleSessionName is missing.')
    const policy = parameters.get('Policy')
    if (policy !== undefined && policy.length > policyCharsMax) throw stsErrors.PackedPolicyTooLarge()
    const durationSeconds = readDuration(parameters.get('DurationSeconds'))
    const session = await users.createSession(identity, { sessionName, durationSeconds, policy })
    return {
      AssumedRoleUser: {
        Arn: sessionArn(identity.userName ?? identity.accessKey, sessionName),
        AssumedRoleId: `${session.accessKey}:${sessionName}`,
      },
      Credentials: {
        AccessKeyId: session.accessKey,
        SecretAccessKey: session.secretKey,
        SessionToken: session.sessionToken,
        Expiration: new Date(session.expiresMs).toISOString(),
      },
      ...(policy === undefined ? {} : { PackedPolicySize: Math.ceil((100 * policy.length) / policyCharsMax) }),
    }
  }
}

function readDuration(text: string | undefined): number {
  if (text === undefined) return durationSecondsDefault
  if (!/^\d{1,6}$/.test(text)) throw stsErrors.ValidationError('DurationSeconds is a number of seconds.')
  return Number(text)
}
