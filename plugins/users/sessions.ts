/**
 * Temporary credentials. The token contains everything about a session, sealed under a key of the deployment: nothing is stored, and only
 * this deployment can read or create tokens. A session ends when it expires, and as soon as the credentials that created it are
 * deleted, disabled, or get another secret key.
 *
 * | Condition for a valid token | Otherwise |
 * |---|---|
 * | it can be opened, and belongs to the access key that signs | `invalid` |
 * | it has not expired | `expired` |
 * | the credentials that created it are valid, are the same ones, and have the same secret | `invalid` |
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Clock, chain, type MaybePromise, type Random } from 'svc/kernel'
import {
  type Credentials,
  equalsInConstantTime,
  type IamService,
  type Identity,
  type SessionCredentials,
} from 'svc/plugins/iam/api'
import type { IdentityPolicies, PolicyService } from 'svc/plugins/policy/api'
import { openSealed, SealError, seal } from 'svc/plugins/sealing/api'
import type { NewSession, SessionRequest } from './api.ts'
import { type Documents, only } from './documents.ts'
import { usersErrors } from './errors.ts'
import { DirectoryIdentity } from './identity.ts'
import { newSecretKey, newSessionAccessKey } from './names.ts'
import { requireCompiled } from './policy-directory.ts'
import { embedded } from './rights.ts'

export const durationSecondsMin = 900
export const durationSecondsMax = 43_200
const policyCharsMax = 2048
/** A policy of 2048 characters, names of 128 each, and the overhead of sealing and Base64. */
const tokenCharsMax = 8192
const knownMax = 1024
const context = 'svc session token'

interface Token {
  readonly accessKey: string
  readonly secretKey: string
  /** The access key that created the session. */
  readonly parent: string
  /** A hash of the parent's secret key and uid: another access key with that name and secret is not the parent. */
  readonly mark: string
  readonly expiresMs: number
  readonly name: string
  readonly policy?: string
}

interface Session {
  readonly token: Token
  /** The parent's credentials when `credentials` were created. */
  base: Credentials | undefined
  credentials: Credentials | undefined
}

export interface SessionsOptions {
  readonly documents: Documents
  readonly iam: IamService
  readonly policy: PolicyService
  readonly clock: Clock
  readonly random: Random
}

export interface Sessions {
  credentials(accessKey: string, token: string): MaybePromise<SessionCredentials>
  create(caller: Identity, request: SessionRequest): Promise<NewSession>
}

export function createSessions({ documents, iam, policy, clock, random }: SessionsOptions): Sessions {
  const { sessionKeys, users, accessKeys } = documents
  const known = new LRUCache<string, Session>({ max: knownMax })

  const open = (text: string): MaybePromise<Session | undefined> =>
    chain(sessionKeys.get(only), stored => {
      if (stored === undefined) return undefined
      const token = openToken(keyOf(stored.value.key), text)
      if (token === undefined) return undefined
      const session: Session = { token, base: undefined, credentials: undefined }
      known.set(text, session)
      return session
    })

  const check = (session: Session | undefined, accessKey: string): MaybePromise<SessionCredentials> => {
    if (session === undefined || !equalsInConstantTime(accessKey, session.token.accessKey)) return 'invalid'
    if (clock.now() >= session.token.expiresMs) return 'expired'
    const base = iam.credentials(session.token.parent)
    if (base instanceof Promise) return base.then(base => withBase(session, base))
    return withBase(session, base)
  }

  const withBase = (session: Session, base: Credentials | undefined): MaybePromise<SessionCredentials> => {
    if (base === undefined) return 'invalid'
    if (session.base === base) return session.credentials ?? 'invalid'
    const { parent, mark } = session.token
    return chain(sessionKeys.get(only), stored =>
      chain(iam.verificationKey(parent), secret =>
        chain(uidOf(parent), uid => {
          if (stored === undefined || secret === undefined) return 'invalid'
          const isSame = equalsInConstantTime(mark, markOf(keyOf(stored.value.key), secret, uid))
          session.credentials = isSame ? makeCredentials(session.token, base) : undefined
          // Set last: a session with `base` also has the values that depend on it.
          session.base = base
          return session.credentials ?? 'invalid'
        }),
      ),
    )
  }

  /** The uid of a user or an access key; empty for root, which has no document. */
  const uidOf = (accessKey: string): MaybePromise<string> =>
    chain(users.get(accessKey), user =>
      user !== undefined ? user.value.uid : chain(accessKeys.get(accessKey), key => key?.value.uid ?? ''),
    )

  const makeCredentials = (token: Token, base: Credentials): Credentials => {
    const { accessKey, secretKey, policy: document } = token
    const parent = base.identity
    const { granted, limits = [], isOwnedByRoot } = policiesOf(parent)
    const policies: IdentityPolicies = Object.freeze({
      granted,
      limits: document === undefined ? limits : [...limits, embedded(policy, document)],
      isOwnedByRoot,
    })
    const identity = new DirectoryIdentity({
      accessKey,
      isRoot: false,
      ownerId: parent.ownerId,
      userName: parent.userName ?? parent.accessKey,
      kind: 'session',
      isRestricted: true,
      groups: parent.groups ?? [],
      policies,
    })
    return Object.freeze({
      identity,
      signingSecret: createSecretKey(`AWS4${secretKey}`, 'utf8'),
      verificationKey: createSecretKey(secretKey, 'utf8'),
      expiresMs: Math.min(token.expiresMs, base.expiresMs ?? Number.POSITIVE_INFINITY),
    })
  }

  const policiesOf = (parent: Identity): IdentityPolicies =>
    DirectoryIdentity.policiesOf(parent) ?? { granted: policy.combine([]), isOwnedByRoot: parent.isRoot }

  /** Created with the first session. */
  const requireKey = async (): Promise<KeyObject> => {
    const made = random.bytes(32).toString('base64')
    const stored = await sessionKeys.update(only, current => (current === undefined ? { key: made } : undefined))
    return keyOf(stored!.value.key)
  }

  return {
    credentials(accessKey, text) {
      if (text.length > tokenCharsMax) return 'invalid'
      const session = known.get(text)
      if (session !== undefined) return check(session, accessKey)
      return chain(open(text), session => check(session, accessKey))
    },

    async create(caller, { durationSeconds, sessionName, policy: document }) {
      if (caller.kind === 'share' || caller.kind === 'session') {
        throw usersErrors.access_denied('Only users and access keys can get temporary credentials.')
      }
      requireDuration(durationSeconds)
      if (!/^[\w+=,.@-]{2,64}$/.test(sessionName)) {
        throw usersErrors.invalid_argument('The name of a session has 2 to 64 letters, digits and _ + = , . @ -', {
          extra: { Argument: 'RoleSessionName' },
        })
      }
      if (document !== undefined) {
        if (document.length > policyCharsMax) {
          throw usersErrors.malformed_policy(`The policy of a session has at most ${policyCharsMax} characters.`)
        }
        requireCompiled({ policy }, document, 'session')
      }
      const parent = caller.accessKey
      const secret = await iam.verificationKey(parent)
      if (secret === undefined) throw usersErrors.access_denied()
      const key = await requireKey()
      const token: Token = {
        accessKey: newSessionAccessKey(random),
        secretKey: newSecretKey(random),
        parent,
        mark: markOf(key, secret, await uidOf(parent)),
        expiresMs: clock.now() + durationSeconds * 1000,
        name: sessionName,
        ...(document === undefined ? {} : { policy: document }),
      }
      const sessionToken = seal(key, Buffer.from(JSON.stringify(token)), context, random.bytes(12)).toString(
        'base64url',
      )
      const { accessKey, secretKey, expiresMs } = token
      return { accessKey, secretKey, sessionToken, expiresMs }
    },
  }
}

function requireDuration(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= durationSecondsMin && seconds <= durationSecondsMax) return
  throw usersErrors.invalid_argument(`A session lasts ${durationSecondsMin} to ${durationSecondsMax} seconds.`, {
    extra: { Argument: 'DurationSeconds' },
  })
}

function keyOf(base64: string): KeyObject {
  return createSecretKey(Buffer.from(base64, 'base64'))
}

/** Changes with the secret key, without revealing it. A uid has no line break. */
function markOf(key: KeyObject, secret: KeyObject, uid: string): string {
  return createHmac('sha256', key).update(`svc session parent\n${uid}\n`).update(secret.export()).digest('base64url')
}

function openToken(key: KeyObject, text: string): Token | undefined {
  try {
    return JSON.parse(openSealed(key, Buffer.from(text, 'base64url'), context).toString()) as Token
  } catch (error) {
    // Not a token of this deployment, or damaged. Tokens that can be opened were created here, so they are JSON.
    if (error instanceof SealError) return undefined
    throw error
  }
}
