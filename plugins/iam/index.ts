import { definePlugin } from 'svc/kernel'
import { IamConfig } from './config.ts'
import { createIam } from './iam.ts'

export default definePlugin({
  name: 'iam',
  provides: ['iam'],
  config: IamConfig,
  setup: ({ config }) => ({ services: { iam: createIam(config) } }),
})
