/**
 * Identity: who sends a request, and who an access key belongs to. The root user is known here; users and their access keys come
 * from the plugin that contributes to `iam.directory`, the mechanisms of authentication from those that contribute to `auth.provider`.
 */
import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { AuthChain, Authentication, AuthProvider } from './authentication.ts'
import type { AuthSessionService } from './sessions.ts'

export type {
  AuthAnswer,
  AuthChain,
  Authentication,
  AuthProvider,
  PayloadDecoder,
  PayloadForm,
  Principal,
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
  /** The user whose rights these are: the owner of an access key. Absent: `accessKey` is the user. */
  readonly userName?: string
  /** What the credentials are. Absent: `user`. */
  readonly kind?: 'user' | 'access-key' | 'share' | 'session'
  /** Has fewer rights than its user: by an embedded policy, or because it is a share or a session. Mints no credentials. */
  readonly isRestricted?: boolean
  /** Enabled groups of the user. */
  readonly groups?: readonly string[]
  /** Condition keys that an authentication provider knows of it, in lower case: `jwt:…`, `ldap:…`. */
  readonly claims?: Readonly<Record<string, readonly string[]>>
}

/** The same object as long as nothing changes that it was made from: who keeps it compares. */
export interface Credentials {
  readonly identity: Identity
  /** HMAC key `"AWS4" + secret`, made once: signing with a KeyObject costs a third of signing with bytes. */
  readonly signingSecret: KeyObject
  /** HMAC key of the plain secret: for tokens (HS512), and for Signature Version 2. */
  readonly verificationKey: KeyObject
}

/** What becomes of a session token: its credentials, or why there are none. */
export type SessionCredentials = Credentials | 'invalid' | 'expired'

/**
 * Everything that may be a promise is one only in worker threads, and there only when something has changed; in the main
 * thread it never is.
 */
export interface IamService extends AuthChain {
  /**
   * The credentials of an access key as of the last acknowledged change, or undefined: unknown, disabled or expired, or its
   * user is. Takes the same time for known and unknown keys as far as possible.
   */
  credentials(accessKey: string): MaybePromise<Credentials | undefined>
  /** The temporary credentials that a session token holds. `invalid` also when it is of another access key. */
  sessionCredentials(accessKey: string, token: string): MaybePromise<SessionCredentials>
  /** HMAC key of the plain secret, for tokens that are signed with it (HS512); undefined for unknown access keys. */
  verificationKey(accessKey: string): MaybePromise<KeyObject | undefined>
  /**
   * The identity whose secret this is; undefined when it is another one, and for credentials that no one logs in with (of
   * shares). In constant time, for unknown access keys too.
   */
  verifySecret(accessKey: string, secretKey: string): MaybePromise<Identity | undefined>
  /**
   * Tells soon after it that an access key has another secret, is disabled, expires earlier or is gone; without a name when any
   * may be concerned. For what outlives a request; who asks `credentials` does not need it. Returns what ends it.
   */
  watchSecrets(listener: (accessKey: string | undefined) => void): () => void
  /** The owner of every bucket and object of this deployment. */
  readonly owner: Identity
}

/** Credentials of everybody but root. Asked from `start` of its plugin on. */
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
    /** Who has credentials beside root. One plugin. */
    'iam.directory': IamDirectory
    /** Turns credentials of requests into principals; public. Contract suite: `svc/plugins/iam/contract`. */
    'auth.provider': AuthProvider
    /** An anonymous request, and what its headers say of its body. One plugin. */
    'auth.anonymous': (headers: IncomingHttpHeaders) => Authentication
  }
}
