/** Metrics of the queues, by topic (the label `family`) and by kind: the name of the queue up to its colon. */

import type { MaybePromise } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { QueueStatus } from './api.ts'
import type { QueuePlace } from './keys.ts'

export interface QueueCounters {
  onSent(count: number): void
  onFailedAttempt(): void
  onDropped(count: number): void
}

interface TopicStatus {
  queues(): Promise<readonly string[]>
  status(queue: string): MaybePromise<QueueStatus>
}

export interface QueueMetrics {
  of(place: QueuePlace): QueueCounters
  onRefused(place: QueuePlace, count: number): void
  /** Shows the sizes of the queues of this topic. */
  watch(name: string, topic: TopicStatus): void
}

/** Registers the metrics in the main thread alone, because commits and deliveries run there. */
export function registerMetrics(metrics: MetricsService, isMain: boolean): QueueMetrics {
  const nothing = () => undefined
  if (!isMain) {
    return {
      of: () => ({ onSent: nothing, onFailedAttempt: nothing, onDropped: nothing }),
      onRefused: nothing,
      watch: nothing,
    }
  }
  // The label that operators know.
  const labels = ['family', 'kind']
  const counter = (name: string, help: string) => metrics.counter({ name: `svc_queue_${name}`, help, labels })
  const sent = counter('sent_total', 'Entries that their destination has taken.')
  const failed = counter('failed_attempts_total', 'Attempts to deliver that failed. They are tried again.')
  const refused = counter('refused_total', 'Entries that found their queue full.')
  const dropped = counter('dead_letters_dropped_total', 'Dead letters that newer ones replaced.')
  const watched = new Map<string, TopicStatus>()
  const gauge = (name: string, help: string, pick: (status: QueueStatus) => number) =>
    metrics.gauge({
      name: `svc_queue_${name}`,
      help,
      labels,
      async collect(gauge) {
        gauge.reset()
        for (const [topic, { queues, status }] of watched) {
          for (const queue of await queues())
            gauge.inc({ family: topic, kind: kindOf(queue) }, pick(await status(queue)))
        }
      },
    })
  gauge('pending', 'Entries that wait to be delivered.', ({ pending }) => pending)
  gauge('pending_bytes', 'Bytes of the payloads that wait to be delivered.', ({ pendingBytes }) => pendingBytes)
  gauge('dead_letters', 'Entries that their destination will never take.', ({ deadLetters }) => deadLetters)
  return {
    of({ topic, queue }) {
      const values = { family: topic, kind: kindOf(queue) }
      const [sentHere, failedHere, droppedHere] = [sent, failed, dropped].map(each => each.labels(values))
      return {
        onSent: count => sentHere!.inc(count),
        onFailedAttempt: () => failedHere!.inc(),
        onDropped: count => droppedHere!.inc(count),
      }
    },
    onRefused: ({ topic, queue }, count) => refused.inc({ family: topic, kind: kindOf(queue) }, count),
    watch(name, topic) {
      watched.set(name, topic)
    },
  }
}

function kindOf(queue: string): string {
  const end = queue.indexOf(':')
  return end === -1 ? '' : queue.slice(0, end)
}
