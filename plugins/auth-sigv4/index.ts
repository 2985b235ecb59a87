import { definePlugin } from 'svc/kernel'
import { createAuthSigv4 } from './auth-sigv4.ts'
import { AuthSigv4Config } from './config.ts'

export default definePlugin({
  name: 'auth-sigv4',
  description: 'Signature Version 4 of requests, of presigned links and of forms.',
  requires: ['iam'],
  provides: ['authSigv4'],
  config: AuthSigv4Config,
  setup: ({ config, services, ports }) => ({
    services: { authSigv4: createAuthSigv4({ iam: services.iam, clock: ports.clock, region: config.region }) },
  }),
})
