import type { AuditMessage, AuditSinkKind } from 'svc/plugins/audit/api'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { kafkaKind, sending } from './kind.ts'
import { createKafkaProducer } from './producer.ts'
import type { KafkaSettings } from './settings.ts'

const batchMax = 200

/** Audit records to a topic: the key is `<node>/<request id>`, the value the record as JSON. */
export function createKafkaSink(guard: AddressGuard): AuditSinkKind<typeof KafkaSettings> {
  const recordOf = ({ key, body }: AuditMessage) => ({ key, value: body })
  return {
    description: 'Kafka: each audit record is a record of a topic, with node and id of the request as its key.',
    ...kafkaKind(guard),
    connect: settings => sending(createKafkaProducer(settings, guard), batchMax, recordOf),
  }
}
