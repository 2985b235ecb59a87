/** Live trace of requests. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import './api.ts'
import 'svc/plugins/http/api'
import 'svc/plugins/s3/api'
import streamTrace from './admin/stream-trace.ts'
import { createTraceService } from './service.ts'

export default definePlugin({
  name: 'trace',
  description: 'Live trace of requests.',
  provides: ['trace'],
  contributes: { 'admin.operation': [streamTrace] },
  setup({ threads, ports, contribute }) {
    const trace = createTraceService(threads, ports.clock, ports.random)
    contribute('s3.observer', 'trace', trace.observe)
    contribute('http.observer', 'trace', trace.observe)
    return { services: { trace }, start: trace.start, stop: trace.stop }
  },
})
