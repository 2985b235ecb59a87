import { definePlugin } from 'svc/kernel'
import { KmsConfig } from './config.ts'

export default definePlugin({
  name: 'kms',
  config: KmsConfig,
  setup({ config, log, threads }) {
    if (config.secretKey !== undefined && threads.isMain) {
      log.info('SVC_KMS_SECRET_KEY is set; encryption is not built yet, objects are stored as they come')
    }
    return {}
  },
})
