/** The JSON Admin API. */
import { definePlugin } from 'svc/kernel'
import './api.ts'
import 'svc/plugins/http/api'
import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import 'svc/plugins/checksums/api'
import { throttledFamily } from 'svc/plugins/http/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { createAdminRoutes } from './admin.ts'
import { createPlaces } from './places.ts'
import { adminPoints } from './points.ts'

export default definePlugin({
  name: 'admin',
  description: 'The JSON Admin API at /api/v1 of the console listener.',
  requires: ['kernel', 'policy', 'authSession', 'iam', 'objects', 'checksums', 'storedNeeds'],
  optional: ['metrics', 'rateLimits'],
  points: adminPoints,
  config: Type.Object({ keyNormalization: keyNormalizationSetting }),
  setup({ config, services, ports, threads, log, contribute, point }) {
    const places = createPlaces(threads)
    const { kernel, policy, authSession, iam, objects, checksums, rateLimits, metrics = noMetrics } = services
    const throttled = metrics.counter(throttledFamily)
    contribute('http.routes', 'admin', {
      listeners: ['console'],
      plugin: createAdminRoutes({
        kernel,
        policy,
        authSession,
        iam,
        objects,
        checksums,
        rateLimits,
        places,
        countThrottled: kind => throttled.inc({ api: 'admin', kind }),
        normalizeKey: keyNormalizer(config.keyNormalization),
        clock: ports.clock,
        log,
        contributions: point('admin.operation').list,
      }),
    })
    return { start: places.start }
  },
})
