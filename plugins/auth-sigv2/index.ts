import { chain, definePlugin } from 'svc/kernel'
import 'svc/plugins/iam/api'
import 'svc/plugins/s3/api'
import { createSigv2 } from './auth-sigv2.ts'

export default definePlugin({
  name: 'auth-sigv2',
  description: 'Signature Version 2 of requests, of presigned links and of forms, where the settings turn it on.',
  requires: ['iam', 's3'],
  setup({ services, ports, contribute }) {
    const { iam, s3 } = services
    const isOn = () => chain(s3.apiSettings.get(), ({ signature_v2 }) => signature_v2)
    contribute('auth.provider', 'sigv2', createSigv2({ iam, clock: ports.clock, isOn }))
  },
})
