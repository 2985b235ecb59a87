import { definePlugin } from 'svc/kernel'
import { createAuthChain } from './chain.ts'
import { IamConfig } from './config.ts'
import { createIam } from './iam.ts'
import { iamPoints } from './points.ts'

export default definePlugin({
  name: 'iam',
  description: 'Identifies the sender of a request and the owner of an access key.',
  provides: ['iam'],
  points: iamPoints,
  config: IamConfig,
  setup({ config, point }) {
    const directories = point('iam.directory')
    const providers = point('auth.provider')
    const anonymous = point('auth.anonymous')
    const throttles = point('auth.throttle')
    const iam = createIam(config)
    const { open, ...chain } = createAuthChain()
    return {
      services: { iam: Object.freeze({ ...iam.service, ...chain }) },
      start() {
        iam.open(directories.list()[0]?.value)
        open(providers.list(), anonymous.list()[0]?.value, throttles.list()[0]?.value)
      },
    }
  },
})
