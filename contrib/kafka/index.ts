import { definePlugin } from 'svc/kernel'
// For their types only: they declare the extension points `audit.sink` and `notify.target`, and the service `httpClient`.
import type {} from 'svc/plugins/audit/api'
import type {} from 'svc/plugins/http-client/api'
import type {} from 'svc/plugins/notify/api'
import { createKafkaSink } from './sink.ts'
import { createKafkaTarget } from './target.ts'

export default definePlugin({
  name: 'kafka',
  description: 'Events and audit records to Apache Kafka.',
  version: '0.1.0',
  requires: ['httpClient'],
  setup({ services, contribute }) {
    // Brokers of operators are in their own networks.
    const guard = services.httpClient.guard('private')
    contribute('notify.target', 'kafka', createKafkaTarget(guard), { optional: true })
    contribute('audit.sink', 'kafka', createKafkaSink(guard), { optional: true })
    return {}
  },
})
