import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { NotifyMessage, NotifyTargetKind } from 'svc/plugins/notify/api'
import { kafkaKind, sending } from './kind.ts'
import { createKafkaProducer } from './producer.ts'
import type { KafkaSettings } from './settings.ts'

const batchMax = 100

/** Events to a topic: the key is `bucket/key`, the value is the message that a webhook gets. */
export function createKafkaTarget(guard: AddressGuard): NotifyTargetKind<typeof KafkaSettings> {
  const recordOf = ({ bucket, key, body }: NotifyMessage) => ({ key: `${bucket}/${key}`, value: body })
  return {
    description: 'Kafka: each event is a record of a topic, with bucket and key of the object as its key.',
    ...kafkaKind(guard),
    connect(settings) {
      const producer = createKafkaProducer(settings, guard)
      return {
        ...sending(producer, batchMax, recordOf),
        // Compacted topics refuse records without a key.
        test: (body, signal) => producer.send([{ key: 's3:TestEvent', value: body }], signal),
      }
    },
  }
}
