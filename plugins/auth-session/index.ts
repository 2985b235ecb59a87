/** Console sessions. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import getSession from './admin/get-session.ts'
import { createLogin } from './admin/login.ts'
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
  config: authSessionConfig,
  setup({ config, services, ports, contribute }) {
    const browser = declareBrowserSettings(services.settings)
    const authSession = createAuthSession({
      iam: services.iam,
      browser,
      clock: ports.clock,
      random: ports.random,
      publicUrl: config.browserRedirectUrl,
    })
    contribute('auth.provider', 'session', createSessionProvider(authSession))
    for (const operation of [createLogin(authSession), logout, getSession]) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, {}), { optional: true })
    }
    return {
      services: { authSession },
      // Once: sessions end in the order of their beginning, because all live equally long.
      start: async () => authSession.start((await browser.get()).session_duration),
      stop: authSession.stop,
    }
  },
})
