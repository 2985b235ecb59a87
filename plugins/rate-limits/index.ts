/** Limits on requests per second. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import { Type } from 'typebox'
import { createRateLimits } from './rate-limits.ts'
import { declareRateLimits } from './settings.ts'

export default definePlugin({
  name: 'rate-limits',
  description: 'How many requests per second a client, an access key, a bucket or a user may send.',
  requires: ['settings'],
  provides: ['rateLimits'],
  config: Type.Object({}),
  setup({ services, ports, threads }) {
    const rateLimits = createRateLimits({ settings: declareRateLimits(services.settings), threads, ...ports })
    return { services: { rateLimits }, start: () => rateLimits.start() }
  },
})
