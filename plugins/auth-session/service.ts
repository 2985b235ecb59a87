import { type Clock, chain, type MaybePromise, type Random } from 'svc/kernel'
import type { ActiveSession, AuthSessionService, IamService, Identity } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import { atOnce } from './at-once.ts'
import type { BrowserSettings } from './browser-settings.ts'
import { readSessionCookies } from './cookie.ts'
import { createOriginCheck } from './origin.ts'
import { createSessions, sessionLifetimeMs } from './sessions.ts'
import { createLoginThrottle } from './throttle.ts'

export interface RunningAuthSession extends AuthSessionService {
  begin(identity: Identity): { readonly cookie: string; readonly session: ActiveSession }
  /** Access key of the session that one of these cookies names. Only in the main thread. */
  accessKeyOf(cookies: readonly string[]): string | undefined
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

  function identityOf(cookies: readonly string[]): Identity | undefined {
    for (const cookie of cookies) {
      const session = sessions.find(cookie)
      if (session !== undefined) return session.identity
    }
    return undefined
  }

  const currentIdentity = (accessKey: string): MaybePromise<Identity | undefined> =>
    chain(iam.credentials(accessKey), found => found?.identity)

  return {
    find({ request }) {
      for (const cookie of readSessionCookies(request.headers.cookie)) {
        const session = sessions.find(cookie)
        if (session !== undefined) return session
      }
      return undefined
    },
    identityOf({ request }) {
      const cookies = readSessionCookies(request.headers.cookie)
      if (cookies.length === 0) return undefined
      if (askMain === undefined) return identityOf(cookies)
      // Policies belong to the identity of this thread.
      return askMain(cookies).then(accessKey => (accessKey === undefined ? undefined : currentIdentity(accessKey)))
    },
    accessKeyOf: cookies => identityOf(cookies)?.accessKey,
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
