/**
 * Console sessions: logins with a browser. The types are here, below the plugins that need the session of a request; the plugin
 * `auth-session` provides the service.
 */
import type { IncomingMessage } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from './api.ts'

/** The parts of a request by which a session is found: its cookies, and its origin. */
export interface BrowserRequest {
  readonly request: Pick<IncomingMessage, 'headers'>
  /** True if the client used TLS to this server or to a trusted proxy. */
  readonly secure: boolean
  /** Host and port as the client sent them, in lower case. */
  readonly host: string
}

export interface Session {
  /** Identifies the session in logs; gives no access. */
  readonly id: string
  readonly accessKey: string
  /** Milliseconds since 1970. */
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

export interface ActiveSession extends Session {
  /** As of now, not as of the login. */
  readonly identity: Identity
  readonly csrfToken: string
  /** In constant time. */
  hasCsrfToken(text: string | undefined): boolean
  /**
   * Calls the listener once when the session ends, also by its expiry or by a change of credentials. Returns a function that removes the
   * listener.
   */
  onEnd(listener: () => void): () => void
  end(): void
}

export interface AuthSessionService {
  /**
   * The active session that the cookies of a request name. Throws `ambiguous_session` where they name several, which end: a page of another
   * port of the host has set one of them.
   */
  find(exchange: BrowserRequest): ActiveSession | undefined
  /** Whose session it is, as of now. In every thread; `find` knows the sessions of the main thread alone. */
  identityOf(exchange: Pick<BrowserRequest, 'request' | 'secure'>): MaybePromise<Identity | undefined>
  /**
   * Whether the browser reports a page of the console (`console`) or another page (`foreign`) as the origin of the request; `unknown`
   * without a report, as with other clients.
   */
  originOf(exchange: BrowserRequest): 'console' | 'foreign' | 'unknown'
  /**
   * Checks a secret like a login, with the same throttling and counting of failures. Throws `too_many_requests`. The time that it takes
   * does not reveal whether the access key exists.
   */
  verify(clientAddress: string, accessKey: string, secretKey: string): Identity | undefined
  /** Ends the sessions of an access key, except one: after a change of its secret, or its deletion. */
  endAll(accessKey: string, exceptId?: string): void
  /** The maximum size of an upload of the console in bytes (`browser.upload_max_size`), as of now. */
  uploadBytesMax(): MaybePromise<number>
  /**
   * Keeps a session while `change` gives its access key this secret: until then the session is valid with the old and the new secret,
   * afterwards with the new one only. Other sessions of the access key end.
   */
  keepThrough<T>(sessionId: string, newSecretKey: string, change: () => Promise<T>): Promise<T>
}
