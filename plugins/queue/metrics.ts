/** What the queue tells the operator, by family and by kind of lane: what the lane's name has before a colon. */

import type { MaybePromise } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { LaneStatus } from './api.ts'
import type { LanePlace } from './keys.ts'

export interface LaneCounts {
  onSent(count: number): void
  onFailedAttempt(): void
  onDropped(count: number): void
}

interface FamilyStatus {
  lanes(): Promise<readonly string[]>
  status(lane: string): MaybePromise<LaneStatus>
}

export interface QueueFamilies {
  of(place: LanePlace): LaneCounts
  onRefused(place: LanePlace, count: number): void
  /** Shows how much waits in the lanes of this family. */
  watch(name: string, family: FamilyStatus): void
}

/** Only in the main thread: it alone puts and delivers. */
export function registerFamilies(metrics: MetricsService, isMain: boolean): QueueFamilies {
  const nothing = () => undefined
  if (!isMain) {
    return {
      of: () => ({ onSent: nothing, onFailedAttempt: nothing, onDropped: nothing }),
      onRefused: nothing,
      watch: nothing,
    }
  }
  const labels = ['family', 'kind']
  const counter = (name: string, help: string) => metrics.counter({ name: `svc_queue_${name}`, help, labels })
  const sent = counter('sent_total', 'Entries that their destination has taken.')
  const failed = counter('failed_attempts_total', 'Attempts to deliver that failed. They are tried again.')
  const refused = counter('refused_total', 'Entries that found their lane full.')
  const dropped = counter('dead_letters_dropped_total', 'Dead letters that had to go for newer ones.')
  const watched = new Map<string, FamilyStatus>()
  const gauge = (name: string, help: string, pick: (status: LaneStatus) => number) =>
    metrics.gauge({
      name: `svc_queue_${name}`,
      help,
      labels,
      async collect(gauge) {
        gauge.reset()
        for (const [family, { lanes, status }] of watched) {
          for (const lane of await lanes()) gauge.inc({ family, kind: kindOf(lane) }, pick(await status(lane)))
        }
      },
    })
  gauge('pending', 'Entries that wait to be delivered.', ({ pending }) => pending)
  gauge('pending_bytes', 'Bytes of the payloads that wait to be delivered.', ({ pendingBytes }) => pendingBytes)
  gauge('dead_letters', 'Entries that were given up.', ({ deadLetters }) => deadLetters)
  return {
    of({ family, lane }) {
      const values = { family, kind: kindOf(lane) }
      const [sentHere, failedHere, droppedHere] = [sent, failed, dropped].map(each => each.labels(values))
      return {
        onSent: count => sentHere!.inc(count),
        onFailedAttempt: () => failedHere!.inc(),
        onDropped: count => droppedHere!.inc(count),
      }
    },
    onRefused: ({ family, lane }, count) => refused.inc({ family, kind: kindOf(lane) }, count),
    watch(name, family) {
      watched.set(name, family)
    },
  }
}

function kindOf(lane: string): string {
  const end = lane.indexOf(':')
  return end === -1 ? '' : lane.slice(0, end)
}
