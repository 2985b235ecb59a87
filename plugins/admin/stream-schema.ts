import { Type } from 'typebox'

/** Of the event `dropped`, which every stream has beside its own. */
export const StreamDropped = Type.Object(
  { count: Type.Integer({ description: 'Events that this client was too slow for since the last time it was told.' }) },
  { $id: 'StreamDropped' },
)
