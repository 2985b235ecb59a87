/** The state of a target in a word, the same wherever it is told. */
import { texts } from '../../texts/index.ts'

const words = texts.events

export interface TargetFacts {
  readonly enabled: boolean
  readonly online: boolean
  readonly lastSuccessAt?: string
  /** Of the last delivery or test, if it failed; absent where none was possible. */
  readonly lastErrorAt?: string
  readonly pendingEvents?: number
  readonly pendingRecords?: number
}

/** The server calls a target online until a delivery has failed: before the first it knows nothing. */
export function wordOf({ enabled, online, lastSuccessAt, lastErrorAt, ...waiting }: TargetFacts) {
  if (!enabled) return { text: texts.common.disabled, is: 'neutral' } as const
  // What it has refused for good does not wait: it may take the next one.
  const isWaitedFor = Math.max(waiting.pendingEvents ?? 0, waiting.pendingRecords ?? 0) > 0
  if (!online && !isWaitedFor && lastErrorAt !== undefined) return { text: words.lastFailed, is: 'poor' } as const
  if (!online) return { text: words.offline, is: 'bad' } as const
  if (lastSuccessAt === undefined) return { text: words.notTried, is: 'neutral' } as const
  return { text: words.online, is: 'good' } as const
}
