import { Type } from 'typebox'

export const TargetParameters = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 255, description: '`<kind>:<name>`, as `webhook:_`.' }),
})

/** Of one request. */
export const deadLettersMax = 300
export const idPattern = '^[0-9a-f]{20}$'

export const NotifyTarget = Type.Object(
  {
    id: Type.String({ description: '`<kind>:<name>`; the name of a target that was configured without one is `_`.' }),
    type: Type.String({ description: 'The kind: `webhook`.' }),
    arn: Type.String({ description: 'What subscriptions name.' }),
    enabled: Type.Boolean(),
    endpoint: Type.String({ description: 'Where events go, without credentials.' }),
    online: Type.Boolean({ description: 'No delivery has failed since the last success.' }),
    pendingEvents: Type.Integer({ description: 'Events that wait in the queue.' }),
    deadLetters: Type.Integer({ description: 'Events that the target will never take.' }),
    failedTotal: Type.Integer({ description: 'Attempts that failed since the start.' }),
    lastError: Type.String({ description: 'Empty when there is none.' }),
    lastSuccessAt: Type.Optional(Type.String({ format: 'date-time', description: 'Since the start.' })),
    queueLimit: Type.Integer(),
  },
  { $id: 'NotifyTarget' },
)
