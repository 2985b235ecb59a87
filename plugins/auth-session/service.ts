import { type Clock, chain, type MaybePromise, type Random } from 'svc/kernel'
import type { ActiveSession, AuthSessionService, BrowserRequest, IamService, Identity } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import { atOnce } from './at-once.ts'
import type { BrowserSettings } from './browser-settings.ts'
import { createSessionCookies, readSessionCookies, type SessionCookies } from './cookie.ts'
import { sessionErrors } from './errors.ts'
import { createOriginCheck } from './origin.ts'
import { createSessions, sessionLifetimeMs } from './sessions.ts'
import { createLoginThrottle } from './throttle.ts'

export interface RunningAuthSession extends AuthSessionService {
  begin(identity: Identity): { readonly cookie: string; readonly session: ActiveSession }
  /** Access key of the session that one of these cookies names. Only in the main thread. */
  accessKeyOf(cookies: readonly string[]): string | undefined
  /** Ends every session that a request names. */
  endNamed(exchange: Pick<BrowserRequest, 'request' | 'secure'>): void
  readonly cookies: SessionCookies
  /** Lifetime of every session of this process. */
  readonly lifetimeMs: number
  /** Begins to hear of changed secrets. Before the first session. */
  start(lifetimeMs?: number): void
  stop(): void
}

export interface AuthSessionOptions {
  readonly iam: Pick<IamService, 'credentials' | 'verificationKey' | 'verifySecret' | 'watchSecrets'>
  readonly clock: Clock
  readonly random: Random
  readonly publicUrl: string | undefined
  readonly browser: Pick<Settings<BrowserSettings>, 'get'>
  /** Asks the main thread for the access key of the session that one of these cookies names. Undefined in the main thread. */
  readonly askMain?: (cookies: readonly string[]) => Promise<string | undefined>
}

export function createAuthSession({
  iam,
  clock,
  random,
  publicUrl,
  browser,
  askMain,
}: AuthSessionOptions): RunningAuthSession {
  let lifetimeMs = sessionLifetimeMs
  const sessions = createSessions({ iam, clock, random, lifetimeMs: () => lifetimeMs })
  const throttle = createLoginThrottle(clock)
  let forgetSecrets: (() => void) | undefined

  const cookies = createSessionCookies(publicUrl)

  const valuesOf = (exchange: Pick<BrowserRequest, 'request' | 'secure'>): string[] =>
    readSessionCookies({ headers: exchange.request.headers, isSecure: cookies.isSecure(exchange) })
  const findAll = (values: readonly string[]): ActiveSession[] =>
    values.map(value => sessions.find(value)).filter(session => session !== undefined)

  /** Nobody's where the cookies name several sessions: one of them was set by another page. */
  function identityOf(values: readonly string[]): Identity | undefined {
    const found = findAll(values)
    return found.length === 1 ? found[0]!.identity : undefined
  }

  const currentIdentity = (accessKey: string): MaybePromise<Identity | undefined> =>
    chain(iam.credentials(accessKey), found => found?.identity)

  return {
    find(exchange) {
      const found = findAll(valuesOf(exchange))
      if (found.length < 2) return found[0]
      // One of them was set by another page. If it stayed, the browser would send both again after the next login.
      for (const session of found) session.end()
      throw sessionErrors.ambiguous_session()
    },
    endNamed(exchange) {
      for (const session of findAll(valuesOf(exchange))) session.end()
    },
    cookies,
    identityOf(exchange) {
      const values = valuesOf(exchange)
      if (values.length === 0) return undefined
      if (askMain === undefined) return identityOf(values)
      // Policies belong to the identity of this thread.
      return askMain(values).then(accessKey => (accessKey === undefined ? undefined : currentIdentity(accessKey)))
    },
    accessKeyOf: values => identityOf(values)?.accessKey,
    originOf: createOriginCheck(publicUrl),
    uploadBytesMax: () => chain(browser.get(), values => values.upload_max_size),
    verify(clientAddress, accessKey, secretKey) {
      throttle.check(clientAddress, accessKey)
      const identity = atOnce(iam.verifySecret(accessKey, secretKey))
      if (identity === undefined) throttle.failed(clientAddress, accessKey)
      else throttle.succeeded(clientAddress, accessKey)
      return identity
    },
    endAll: sessions.endAll,
    keepThrough: sessions.keepThrough,
    begin: sessions.begin,
    get lifetimeMs() {
      return lifetimeMs
    },
    start(wantedMs = sessionLifetimeMs) {
      lifetimeMs = wantedMs
      forgetSecrets = iam.watchSecrets(sessions.recheck)
    },
    stop() {
      forgetSecrets?.()
      sessions.close()
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    runningSessions: RunningAuthSession
  }
}
