import { createHash, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import { chain } from 'svc/kernel'
import type { AuthChain, Credentials, IamDirectory, IamService, Identity } from './api.ts'
import { checkRootPassword, checkRootUser, type IamConfig } from './config.ts'
import { equalsInConstantTime } from './constant-time.ts'

/** Owner ids must never change in a deployment: this prefix is part of the stored format. */
const ownerIdPrefix = 'svc owner\n'

export type Identities = Omit<IamService, keyof AuthChain>

export interface Iam {
  readonly service: Identities
  /** Before it is called, and without a directory, only root has credentials. */
  open(directory: IamDirectory | undefined): void
}

/** Throws RangeError for credentials that the configuration should have refused. */
export function createIam({ rootUser, rootPassword }: IamConfig): Iam {
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
    verificationKey: createSecretKey(rootPassword, 'utf8'),
  })
  // For unknown access keys a random secret is compared instead: the same work, and never equal.
  const decoy = createSecretKey(randomBytes(32))
  let directory: IamDirectory | undefined

  const isRootUser = (accessKey: string): boolean => equalsInConstantTime(accessKey, rootUser)

  const credentials: IamService['credentials'] = accessKey =>
    isRootUser(accessKey) ? root : directory?.credentials(accessKey)

  const matchSecret = (secretKey: string, found: Credentials | undefined): Identity | undefined => {
    const isRight = timingSafeEqual(sha256(secretKey), sha256((found?.verificationKey ?? decoy).export()))
    if (!isRight || found === undefined) return undefined
    return found.identity.kind === 'share' ? undefined : found.identity
  }

  const service: Identities = Object.freeze({
    owner,
    credentials,
    verificationKey: (accessKey: string) => chain(credentials(accessKey), found => found?.verificationKey),
    sessionCredentials: (accessKey: string, token: string) =>
      directory === undefined ? 'invalid' : directory.sessionCredentials(accessKey, token),
    verifySecret: (accessKey: string, secretKey: string) =>
      chain(credentials(accessKey), found => matchSecret(secretKey, found)),
    watchSecrets: (listener: (accessKey: string | undefined) => void) =>
      directory === undefined ? () => {} : directory.watchSecrets(listener),
  })
  return {
    service,
    open(given) {
      directory = given
    },
  }
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
