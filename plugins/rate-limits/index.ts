/** Limits on requests per second. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import 'svc/plugins/iam/api'
import { Type } from 'typebox'
import { createRateLimits } from './rate-limits.ts'
import { declareRateLimits } from './settings.ts'

export default definePlugin({
  name: 'rate-limits',
  description:
    'How many requests per second a client, an access key, a bucket or a user may send, and how many wrong signatures.',
  requires: ['iam', 'settings'],
  provides: ['rateLimits'],
  config: Type.Object({}),
  setup({ services, ports, threads, contribute }) {
    const { wrongSignatures, start, ...rateLimits } = createRateLimits({
      settings: declareRateLimits(services.settings),
      threads,
      ...ports,
    })
    contribute('auth.throttle', 'rate-limits', wrongSignatures)
    return { services: { rateLimits }, start }
  },
})
