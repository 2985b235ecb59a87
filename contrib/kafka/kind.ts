/** Shared by the kinds for events and audit records. */
import type { AddressGuard } from 'svc/plugins/http-client/api'
import type { KafkaProducer, KafkaRecord } from './producer.ts'
import { checkKafka, KafkaSettings, kafkaEndpoint } from './settings.ts'

export function kafkaKind(guard: AddressGuard) {
  return {
    settings: KafkaSettings,
    validate: (settings: KafkaSettings) => checkKafka(settings, guard),
    endpoint: kafkaEndpoint,
  }
}

/** `batchMax`: records per call. */
export function sending<Message>(
  producer: KafkaProducer,
  batchMax: number,
  recordOf: (message: Message) => KafkaRecord,
) {
  return {
    batchMax,
    send: (messages: readonly Message[], signal: AbortSignal) => producer.send(messages.map(recordOf), signal),
    close: () => producer.close(),
  }
}
