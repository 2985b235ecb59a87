import { State } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

export interface TargetStateProps {
  readonly enabled: boolean
  readonly online: boolean
  readonly lastSuccessAt?: string
}

/** The server calls a target online until a delivery has failed: before the first it knows nothing. */
export function TargetState({ enabled, online, lastSuccessAt }: TargetStateProps) {
  if (!enabled) return <State text={texts.common.disabled} is="neutral" />
  if (!online) return <State text={texts.events.offline} is="bad" />
  if (lastSuccessAt === undefined) return <State text={texts.events.notTried} is="neutral" />
  return <State text={texts.events.online} is="good" />
}
