import { definePlugin } from 'svc/kernel'
import { IamConfig } from './config.ts'
import { createIam } from './iam.ts'

export default definePlugin({
  name: 'iam',
  provides: ['iam'],
  points: ['iam.directory'],
  config: IamConfig,
  setup({ config, point }) {
    const directories = point('iam.directory')
    const iam = createIam(config)
    return {
      services: { iam: iam.service },
      start() {
        const [directory, other] = directories.list()
        if (other !== undefined) {
          throw new Error(`iam: both "${directory!.plugin}" and "${other.plugin}" know who has access keys; one may`)
        }
        iam.open(directory?.value)
      },
    }
  },
})
