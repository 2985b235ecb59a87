import { Type } from 'typebox'

/** The data of the event `dropped`, which every stream has in addition to its own events. */
export const StreamDropped = Type.Object(
  {
    count: Type.Integer({
      description: 'Events that were dropped since the last such event, because the client was too slow.',
    }),
  },
  { $id: 'StreamDropped' },
)
