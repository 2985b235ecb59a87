/** How fast drives and objects are here, measured by the server itself. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import runSpeedtest from './admin/run-speedtest.ts'
import { createSpeedtests } from './speedtests.ts'

export default definePlugin({
  name: 'speedtest',
  description: 'Measures how fast the drives are, and how fast objects are stored and read.',
  requires: ['storage', 'drives', 'objects', 'iam', 'authSigv4'],
  internal: ['speedtests'],
  contributes: { 'admin.operation': [runSpeedtest] },
  setup({ services, threads, ports, log }) {
    const { storage, drives, objects, iam, authSigv4 } = services
    const speedtests = createSpeedtests({
      threads,
      ports,
      drives,
      storage,
      objects,
      log,
      owner: () => iam.owner,
      region: () => authSigv4.region,
    })
    return { internal: { speedtests } }
  },
})
