import { createHash, createSecretKey } from 'node:crypto'
import type { Credentials, IamService, Identity } from './api.ts'
import { checkRootPassword, checkRootUser, type IamConfig } from './config.ts'

/** Owner ids must stay the same for the life of a deployment: this prefix is part of the stored format. */
const ownerIdPrefix = 'svc owner\n'

/** The root user alone. Throws RangeError on credentials that the configuration should have refused. */
export function createIam({ rootUser, rootPassword }: IamConfig): IamService {
  const problem = checkRootUser(rootUser) ?? checkRootPassword(rootPassword)
  if (problem !== undefined) throw new RangeError(`root credentials: ${problem}`)
  const owner: Identity = Object.freeze({
    accessKey: rootUser,
    isRoot: true,
    ownerId: createHash('sha256')
      .update(ownerIdPrefix + rootUser)
      .digest('hex'),
    displayName: rootUser,
  })
  const root: Credentials = Object.freeze({
    identity: owner,
    signingSecret: createSecretKey(`AWS4${rootPassword}`, 'utf8'),
  })
  const verificationKey = createSecretKey(rootPassword, 'utf8')
  return Object.freeze({
    owner,
    verificationKey: (accessKey: string) => (equalsInConstantTime(accessKey, rootUser) ? verificationKey : undefined),
    credentials: (accessKey: string) => (equalsInConstantTime(accessKey, rootUser) ? root : undefined),
  })
}

/** Takes a time that depends on the length of what was given, not on how much of it is right. */
function equalsInConstantTime(given: string, known: string): boolean {
  let difference = given.length ^ known.length
  for (let i = 0; i < given.length; i++) {
    difference |= given.charCodeAt(i) ^ known.charCodeAt(i < known.length ? i : 0)
  }
  return difference === 0
}
