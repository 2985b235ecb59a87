import { State } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

export interface TargetStateProps {
  readonly enabled: boolean
  readonly online: boolean
  readonly lastSuccessAt?: string
  /** Of the last delivery or test, if it failed; absent where none was possible. */
  readonly lastErrorAt?: string
  readonly pendingEvents?: number
  readonly pendingRecords?: number
}

/** The server calls a target online until a delivery has failed: before the first it knows nothing. */
export function TargetState({ enabled, online, lastSuccessAt, lastErrorAt, ...waiting }: TargetStateProps) {
  if (!enabled) return <State text={texts.common.disabled} is="neutral" />
  // What it has refused for good does not wait: it may take the next one.
  const isWaitedFor = Math.max(waiting.pendingEvents ?? 0, waiting.pendingRecords ?? 0) > 0
  if (!online && !isWaitedFor && lastErrorAt !== undefined) return <State text={texts.events.lastFailed} is="poor" />
  if (!online) return <State text={texts.events.offline} is="bad" />
  if (lastSuccessAt === undefined) return <State text={texts.events.notTried} is="neutral" />
  return <State text={texts.events.online} is="good" />
}
