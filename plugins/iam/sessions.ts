/**
 * Console sessions: who logged in with a browser. The types stand here, below the plugins that ask for the session of a request;
 * the plugin `auth-session` provides the service.
 */
import type { IncomingMessage } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from './api.ts'

/** What a session is found by: the cookies of a request, and where it says that it comes from. */
export interface BrowserRequest {
  readonly request: Pick<IncomingMessage, 'headers'>
  /** True when the client spoke TLS to us or to a trusted proxy. */
  readonly secure: boolean
  /** Host and port as the client named them, in lower case. */
  readonly host: string
}

export interface Session {
  /** Names the session in logs; gives no access. */
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
  /** Calls once when the session ends, also by its time or a change of credentials. Returns what forgets the listener. */
  onEnd(listener: () => void): () => void
  end(): void
}

export interface AuthSessionService {
  /** The live session that the cookies of a request name. */
  find(exchange: BrowserRequest): ActiveSession | undefined
  /**
   * Whether a browser says that the request comes from a page of the console (`console`) or of somebody else (`foreign`);
   * `unknown` where it says nothing, as other clients do.
   */
  originOf(exchange: BrowserRequest): 'console' | 'foreign' | 'unknown'
  /**
   * Checks a secret as a login does, failures throttled and counted alike. Throws `too_many_requests`. The time that it
   * takes does not tell whether the access key exists.
   */
  verify(clientAddress: string, accessKey: string, secretKey: string): Identity | undefined
  /** Ends the sessions of an access key, except one: its secret changed, or it is gone. */
  endAll(accessKey: string, exceptId?: string): void
  /** How many bytes an upload of the console may have (`browser.upload_max_size`), as of now. */
  uploadBytesMax(): MaybePromise<number>
  /**
   * Keeps a session while `change` gives its access key this secret: it is good with the old one and the new one until then, and with the
   * new one alone when it is done. The other sessions of the access key end by themselves.
   */
  keepThrough<T>(sessionId: string, newSecretKey: string, change: () => Promise<T>): Promise<T>
}
