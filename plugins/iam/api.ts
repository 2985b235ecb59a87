/**
 * Identity: who sends a request, and who owns an access key. The root user is known here; users and their access keys come from the plugin
 * that contributes to `iam.directory`, the mechanisms of authentication from plugins that contribute to `auth.provider`.
 */
import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { AuthChain, Authentication, AuthProvider, SignatureThrottle } from './authentication.ts'
import type { AuthSessionService } from './sessions.ts'

export type {
  AuthAnswer,
  AuthChain,
  Authentication,
  AuthProvider,
  PayloadDecoder,
  PayloadForm,
  Principal,
  SignatureGuard,
  SignatureThrottle,
  SignatureVersion,
  SignedDocument,
  SignedRequest,
} from './authentication.ts'
export { rootPasswordKey } from './config.ts'
export { equalsInConstantTime } from './constant-time.ts'
export type { ActiveSession, AuthSessionService, BrowserRequest, Session } from './sessions.ts'

export interface Identity {
  readonly accessKey: string
  readonly isRoot: boolean
  /** Canonical owner id in S3 answers: 64 hexadecimal characters. The deployment is one account: all users have its id. */
  readonly ownerId: string
  readonly displayName: string
  /** The user whose rights the identity has: the owner of an access key. Absent: `accessKey` is the user. */
  readonly userName?: string
  /** The kind of credentials. Absent: `user`. */
  readonly kind?: 'user' | 'access-key' | 'share' | 'session'
  /** Has fewer rights than its user: by an embedded policy, or because it is a share or a session. Cannot create credentials. */
  readonly isRestricted?: boolean
  /** Enabled groups of the user. */
  readonly groups?: readonly string[]
  /** Condition keys that an authentication provider adds, in lower case: `jwt:…`, `ldap:…`. */
  readonly claims?: Readonly<Record<string, readonly string[]>>
}

/** The same object as long as nothing changes that it depends on, so that a caller that keeps it can compare. */
export interface Credentials {
  readonly identity: Identity
  /** HMAC key `"AWS4" + secret`, created once: signing with a KeyObject costs a third of signing with bytes. */
  readonly signingSecret: KeyObject
  /** HMAC key of the plain secret: for tokens (HS512), and for Signature Version 2. */
  readonly verificationKey: KeyObject
  /** When they end by themselves, in milliseconds since 1970. Absent: never. */
  readonly expiresMs?: number
}

/** The credentials in a session token, or why there are none. */
export type SessionCredentials = Credentials | 'invalid' | 'expired'

/** Methods that may return a promise do so in worker threads only, and there only after a change; never in the main thread. */
export interface IamService extends AuthChain {
  /**
   * The credentials of an access key as of the last acknowledged change; undefined if the key or its user is unknown, disabled or expired.
   * As far as possible, takes the same time for known and unknown keys.
   */
  credentials(accessKey: string): MaybePromise<Credentials | undefined>
  /** The temporary credentials in a session token. `invalid` also if the token belongs to another access key. */
  sessionCredentials(accessKey: string, token: string): MaybePromise<SessionCredentials>
  /** HMAC key of the plain secret, for tokens that are signed with it (HS512); undefined for unknown access keys. */
  verificationKey(accessKey: string): MaybePromise<KeyObject | undefined>
  /**
   * The identity if the secret is right; undefined if it is wrong, and for credentials that cannot log in (shares). In constant time, for
   * unknown access keys, too.
   */
  verifySecret(accessKey: string, secretKey: string): MaybePromise<Identity | undefined>
  /**
   * Calls the listener soon after an access key gets another secret, is disabled, expires earlier or is deleted; without a name if any key
   * may be affected. For whatever outlives a request, such as a console session; callers of `credentials` do not need it. Returns a
   * function that ends the watch.
   */
  watchSecrets(listener: (accessKey: string | undefined) => void): () => void
  /** The owner of every bucket and object of this deployment. */
  readonly owner: Identity
}

/** Credentials of all identities but root. Called from the `start` of its plugin on. */
export interface IamDirectory {
  credentials: IamService['credentials']
  sessionCredentials: IamService['sessionCredentials']
  watchSecrets: IamService['watchSecrets']
}

declare module 'svc/kernel' {
  interface Services {
    iam: IamService
    /** Sessions of browsers: provided by the plugin `auth-session`. */
    authSession: AuthSessionService
  }
  interface ExtensionPoints {
    /** The directory of all identities but root. One plugin. */
    'iam.directory': IamDirectory
    /** Turns credentials of requests into principals; public. Contract suite: `svc/plugins/iam/contract`. */
    'auth.provider': AuthProvider
    /** Refuses who sends too many wrong signatures. One plugin. */
    'auth.throttle': SignatureThrottle
    /** The result for a request without credentials, with the form of its body from its headers. One plugin. */
    'auth.anonymous': (headers: IncomingHttpHeaders) => Authentication
  }
}
