import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import type { UsersService } from 'svc/plugins/users/api'
import { describeCredentials } from './credentials.ts'
import { stsErrors } from './errors.ts'
import { readDuration, refuseParameters } from './parameters.ts'
import { sessionArn } from './principal.ts'

const durationSecondsDefault = 3600
const policyCharsMax = 2048

/** The role is only a name: there are no roles here, and a session has the rights of its caller. */
const known: ReadonlySet<string> = new Set(['RoleArn', 'RoleSessionName', 'DurationSeconds', 'Policy', 'ExternalId'])

/** Temporary credentials with the caller's rights, or with the part of them that `Policy` allows. */
export function createAssumeRole(users: Pick<UsersService, 'createSession'>) {
  return async ({ identity, parameters }: QueryApiRequest): Promise<XmlValue> => {
    refuseParameters(parameters, 'AssumeRole', known)
    const sessionName = parameters.get('RoleSessionName')
    if (sessionName === undefined) throw stsErrors.ValidationError('RoleSessionName is missing.')
    const policy = parameters.get('Policy')
    if (policy !== undefined && policy.length > policyCharsMax) throw stsErrors.PackedPolicyTooLarge()
    const durationSeconds = readDuration(parameters.get('DurationSeconds'), durationSecondsDefault)
    const session = await users.createSession(identity, { sessionName, durationSeconds, policy })
    return {
      AssumedRoleUser: {
        Arn: sessionArn(identity.userName ?? identity.accessKey, sessionName),
        AssumedRoleId: `${session.accessKey}:${sessionName}`,
      },
      Credentials: describeCredentials(session),
      ...(policy === undefined ? {} : { PackedPolicySize: Math.ceil((100 * policy.length) / policyCharsMax) }),
    }
  }
}
