/** Console sessions. */
import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/admin/api'
import getSession from './admin/get-session.ts'
import login from './admin/login.ts'
import logout from './admin/logout.ts'
import { declareBrowserSettings } from './browser-settings.ts'
import { authSessionConfig } from './config.ts'
import { createSessionProvider } from './provider.ts'
import { createAuthSession } from './service.ts'

export default definePlugin({
  name: 'auth-session',
  description: 'Sessions of the console: login, logout, cookie.',
  requires: ['iam', 'settings'],
  provides: ['authSession'],
  internal: ['runningSessions'],
  contributes: { 'admin.operation': [login, logout, getSession] },
  config: authSessionConfig,
  setup({ config, services, ports, threads, contribute }) {
    const browser = declareBrowserSettings(services.settings)
    const authSession = createAuthSession({
      iam: services.iam,
      browser,
      clock: ports.clock,
      random: ports.random,
      publicUrl: config.browserRedirectUrl,
      askMain: threads.isMain
        ? undefined
        : cookies => threads.call(0, 'auth-session.access-key', cookies) as Promise<string | undefined>,
    })
    threads.handle('auth-session.access-key', cookies => authSession.accessKeyOf(cookies as readonly string[]))
    contribute('auth.provider', 'session', createSessionProvider(authSession))
    return {
      services: { authSession },
      internal: { runningSessions: authSession },
      // Once: sessions end in the order of their beginning, because all live equally long.
      start: async () => authSession.start((await browser.get()).session_duration),
      stop: authSession.stop,
    }
  },
})
