import { Type } from 'typebox'

export const TargetParameters = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 255, description: '`<kind>:<name>`, such as `webhook:_`.' }),
})

/** Dead letters in one request. */
export const deadLettersMax = 300
export const idPattern = '^[0-9a-f]{20}$'

export const Through = Type.String({
  pattern: idPattern,
  errorMessage: 'must be the id of an event that was given up',
  description:
    'The id of the newest dead letter that was seen, `newest` or the last one of the list: what was given up after it stays. Default: all that there are.',
})
export const Left = Type.Integer({ description: 'Dead letters that the queue has afterwards.' })

export const NotifyTarget = Type.Object(
  {
    id: Type.String({ description: '`<kind>:<name>`; the name of a target without a name is `_`.' }),
    type: Type.String({ description: 'The kind: `webhook`.' }),
    arn: Type.String({ description: 'The name of the target in subscriptions.' }),
    enabled: Type.Boolean(),
    endpoint: Type.String({
      description: 'The address of the target, without credentials. Empty for callers who may only subscribe to it.',
    }),
    online: Type.Boolean({ description: 'No delivery, and no test, has failed since the last success.' }),
    pendingEvents: Type.Integer({ description: 'Waiting events in the queue.' }),
    deadLetters: Type.Integer({ description: 'Events that the target will never take.' }),
    failedTotal: Type.Integer({ description: 'Failed attempts since the start.' }),
    lastError: Type.String({ description: 'Empty if there is none, and for callers who may only subscribe.' }),
    lastErrorAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of the last delivery or test, if it failed.' }),
    ),
    lastSuccessAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of an event or a test, since the start.' }),
    ),
    queueLimit: Type.Integer(),
  },
  { $id: 'NotifyTarget' },
)
