import { definePlugin } from 'svc/kernel'
import type { RawHandler } from 'svc/plugins/http/api'
import { s3Config } from './config.ts'
import { createDispatchTable } from './dispatch.ts'
import { createS3Handler } from './handler.ts'
import { keyNormalizer } from './target.ts'

export default definePlugin({
  name: 's3',
  requires: ['http', 'authSigv4', 'iam', 'policy', 'objects', 'checksums'],
  points: ['s3.operation', 's3.observer'],
  config: s3Config,
  setup({ config, services, ports, log, point, contribute }) {
    const operations = point('s3.operation')
    const observers = point('s3.observer')
    // The points can be read only after set-up, and requests come only after `start`.
    let handler: RawHandler | undefined
    contribute('http.mount', 's3', { listener: 's3', handler: exchange => handler!(exchange) })
    return {
      start() {
        handler = createS3Handler({
          ...services,
          clock: ports.clock,
          log,
          region: services.authSigv4.region,
          hostId: ports.random.bytes(24).toString('base64'),
          target: {
            domains: config.domain.map(domain => domain.toLowerCase()).sort((a, b) => b.length - a.length),
            normalizeKey: keyNormalizer(config.keyNormalization),
          },
          table: createDispatchTable(operations.list()),
          observers: observers.list().map(({ value }) => value),
        })
      },
    }
  },
})
