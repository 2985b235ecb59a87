import { definePlugin } from 'svc/kernel'
import { createAuthSigv4, readAnonymous } from './auth-sigv4.ts'
import { AuthSigv4Config } from './config.ts'

export default definePlugin({
  name: 'auth-sigv4',
  description: 'Signature Version 4 of requests, of presigned links and of forms.',
  requires: ['iam'],
  provides: ['authSigv4'],
  config: AuthSigv4Config,
  setup({ config, services, ports, contribute }) {
    const { service, provider } = createAuthSigv4({ iam: services.iam, clock: ports.clock, region: config.region })
    contribute('auth.provider', 'sigv4', provider)
    contribute('auth.anonymous', 'auth-sigv4', readAnonymous)
    return { services: { authSigv4: service } }
  },
})
