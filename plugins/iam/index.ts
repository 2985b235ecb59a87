import { definePlugin } from 'svc/kernel'
import { IamConfig } from './config.ts'
import { createIam } from './iam.ts'
import { iamPoints } from './points.ts'

export default definePlugin({
  name: 'iam',
  description: 'Who an access key belongs to.',
  provides: ['iam'],
  points: iamPoints,
  config: IamConfig,
  setup({ config, point }) {
    const directories = point('iam.directory')
    const iam = createIam(config)
    return {
      services: { iam: iam.service },
      start() {
        iam.open(directories.list()[0]?.value)
      },
    }
  },
})
