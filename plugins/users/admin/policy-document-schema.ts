import { Type } from 'typebox'

/** Not checked by the schema: the engine reports each problem with its position, as `malformed_policy`. */
export const PolicyText = Type.Union(
  [Type.String(), Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 })],
  {
    description: 'A policy, as an object or as text; at most 20 KiB.',
  },
)

/** A document of 20 KiB as text in JSON, with every character escaped, and the other fields. */
export const policyBytesMax = 136 * 1024

/** A policy as it is stored. */
export const StoredPolicy = Type.Record(Type.String(), Type.Unknown(), { description: 'A policy document.' })
