/** The server as its administrators see it, and the command that prepares one. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { noKms } from 'svc/plugins/kms/api'
import { createGetServerInfo } from './admin/get-server-info.ts'
import listPlugins from './admin/list-plugins.ts'
import { createRestartService } from './admin/restart-service.ts'
import stopService from './admin/stop-service.ts'
import { ServerConfig } from './config.ts'
import init from './init.ts'
import { followLoggerSettings } from './logger-settings.ts'
import { declareRegion } from './region-settings.ts'

const server = definePlugin({
  name: 'server',
  description: 'Information about the server, restart and stop, and `svc init`.',
  requires: ['kernel', 'settings', 'storage', 'objects', 'tls', 'authSigv4'],
  optional: ['heal', 'kms'],
  config: ServerConfig,
  setup({ config, services, ports, log, contribute }) {
    const getServerInfo = createGetServerInfo({ now: ports.clock.now, heal: services.heal })
    contribute(
      'admin.operation',
      getServerInfo.id,
      bindAdminOperation(getServerInfo, { ...services, kms: services.kms ?? noKms }),
      { optional: true },
    )
    contribute('admin.operation', listPlugins.id, bindAdminOperation(listPlugins, services), { optional: true })
    const restartService = createRestartService(ports.clock)
    contribute('admin.operation', restartService.id, bindAdminOperation(restartService, services), { optional: true })
    contribute('admin.operation', stopService.id, bindAdminOperation(stopService, services), { optional: true })
    declareRegion(services.settings, services.authSigv4)
    return followLoggerSettings({ ...services, config, log })
  },
})

export default [init, server]
