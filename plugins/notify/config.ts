import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { Type } from 'typebox'

export const NotifyConfig = Type.Object({
  keyNormalization: keyNormalizationSetting,
  outboxRetentionMs: Type.Integer({
    minimum: 0,
    default: 86_400_000,
    format: 'duration',
    variable: 'SVC_NOTIFY_OUTBOX_RETENTION',
    description: 'How long events that a rule asked for are kept for a replay, beside the queues. 0 keeps none.',
  }),
  outboxEventsMax: Type.Integer({
    minimum: 1000,
    default: 1_000_000,
    variable: 'SVC_NOTIFY_OUTBOX_LIMIT',
    description: 'Events that are kept for a replay, at most: beyond, the oldest are deleted early.',
  }),
})
