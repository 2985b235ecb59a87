/** Audit records of every request. */
import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import 'svc/plugins/http/api'
import 'svc/plugins/s3/api'
import listAuditTargets from './admin/list-audit-targets.ts'
import searchAudit from './admin/search-audit.ts'
import { auditPoints } from './points.ts'
import { createAuditService } from './service.ts'
import { createAuditTargets } from './targets.ts'

export default definePlugin({
  name: 'audit',
  description: 'Audit records of every request, to sinks that operators name.',
  requires: ['queue', 'settings'],
  optional: ['metrics'],
  provides: ['audit'],
  points: auditPoints,
  contributes: { 'admin.operation': [listAuditTargets, searchAudit] },
  setup({ log, services, ports, threads, contribute, point }) {
    const { metrics = noMetrics, queue, settings } = services
    const { clock } = ports
    const node = hostname()
    const kinds = point('audit.sink')
    const topic = queue.topic('audit')
    const targets = createAuditTargets({ threads, clock, log, node, topic, settings, metrics })
    const audit = createAuditService({ log, clock, threads, node, outlet: targets.outlet })
    contribute('s3.observer', 'audit', audit.observeS3)
    contribute('http.observer', 'audit', audit.observeHttp)
    return {
      services: { audit: { ...audit, targets: targets.states } },
      start: () => targets.start(kinds.list()),
      stop: targets.stop,
    }
  },
})
