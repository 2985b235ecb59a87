/** The server as its administrators see it, and the command that prepares one. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noHeal } from 'svc/plugins/heal/api'
import { noKms } from 'svc/plugins/kms/api'
import { noTracing } from 'svc/plugins/tracing/api'
import getServerInfo from './admin/get-server-info.ts'
import listPlugins from './admin/list-plugins.ts'
import restartService from './admin/restart-service.ts'
import stopService from './admin/stop-service.ts'
import { ServerConfig } from './config.ts'
import init from './init.ts'
import { followLoggerSettings } from './logger-settings.ts'
import { declareRegion } from './region-settings.ts'
import { createRestarts } from './restarts.ts'

const server = definePlugin({
  name: 'server',
  description: 'Information about the server, restart and stop, and `svc init`.',
  requires: ['kernel', 'http', 'settings', 'storage', 'objects', 'tls', 'authSigv4'],
  optional: ['heal', 'kms', 'tracing'],
  internal: ['restarts'],
  contributes: { 'admin.operation': [getServerInfo, listPlugins, restartService, stopService] },
  config: ServerConfig,
  setup({ config, services, ports, log }) {
    const { heal = noHeal, kms = noKms, tracing = noTracing, settings, authSigv4 } = services
    declareRegion(settings, authSigv4)
    const restarts = createRestarts({ kernel: services.kernel, clock: ports.clock, log })
    return { internal: { heal, kms, tracing, restarts }, ...followLoggerSettings({ ...services, config, log }) }
  },
})

export default [init, server]
