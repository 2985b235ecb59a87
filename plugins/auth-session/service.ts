import { type Clock, chain, type Random } from 'svc/kernel'
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
  /** Of every session of this process. */
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
}

export function createAuthSession({ iam, clock, random, publicUrl, browser }: AuthSessionOptions): RunningAuthSession {
  let lifetimeMs = sessionLifetimeMs
  const sessions = createSessions({ iam, clock, random, lifetimeMs: () => lifetimeMs })
  const throttle = createLoginThrottle(clock)
  let forgetSecrets: (() => void) | undefined
  return {
    find({ request }) {
      for (const cookie of readSessionCookies(request.headers.cookie)) {
        const session = sessions.find(cookie)
        if (session !== undefined) return session
      }
      return undefined
    },
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
