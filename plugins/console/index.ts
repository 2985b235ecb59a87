/** The web console. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import { consoleConfig } from './config.ts'
import { createConsoleRoutes } from './routes.ts'

export default definePlugin({
  name: 'console',
  description: 'The web console, under / of the console listener.',
  requires: ['kernel'],
  config: consoleConfig,
  setup({ config, ports, services, contribute }) {
    const plugin = createConsoleRoutes({
      folder: new URL('./web/dist/', import.meta.url),
      publicUrl: config.browserRedirectUrl,
      random: ports.random,
      version: services.kernel.version,
    })
    contribute('http.routes', 'console', { listeners: ['console'], plugin })
    return {}
  },
})
