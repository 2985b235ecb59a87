import type { QueryApiRequest, XmlValue } from 'svc/plugins/s3/api'
import type { UsersService } from 'svc/plugins/users/api'
import { describeCredentials } from './credentials.ts'
import { readDuration, refuseParameters } from './parameters.ts'

/** The default of AWS, and the maximum here; AWS allows three times as much. */
const durationSecondsDefault = 43_200
const known: ReadonlySet<string> = new Set(['DurationSeconds'])

/** Temporary credentials with the caller's rights. */
export function createGetSessionToken(users: Pick<UsersService, 'createSession'>) {
  return async ({ identity, parameters }: QueryApiRequest): Promise<XmlValue> => {
    refuseParameters(parameters, 'GetSessionToken', known)
    const durationSeconds = readDuration(parameters.get('DurationSeconds'), durationSecondsDefault)
    const session = await users.createSession(identity, { sessionName: 'session-token', durationSeconds })
    return { Credentials: describeCredentials(session) }
  }
}
