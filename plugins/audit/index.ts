/** Audit records of every request. */
import { definePlugin } from 'svc/kernel'
import './api.ts'
import 'svc/plugins/http/api'
import 'svc/plugins/s3/api'
import { createAuditService } from './service.ts'

export default definePlugin({
  name: 'audit',
  provides: ['audit'],
  points: ['audit.sink'],
  setup({ log, ports, threads, contribute, point }) {
    const audit = createAuditService({ log, clock: ports.clock, threads, sinks: point('audit.sink').list })
    contribute('s3.observer', 'audit', audit.observeS3)
    contribute('http.observer', 'audit', audit.observeHttp)
    return { services: { audit } }
  },
})
