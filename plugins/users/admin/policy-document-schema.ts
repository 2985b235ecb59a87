import { Type } from 'typebox'

/** As the engine checks it: what is wrong is told as `malformed_policy`, with the place of each problem. */
export const PolicyText = Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())], {
  description: 'A policy, as an object or as text; at most 20 KiB.',
})

/** A document of 20 KiB as text in JSON, whatever has to be escaped in it, and what goes with it. */
export const policyBytesMax = 136 * 1024

/** As it is stored. */
export const StoredPolicy = Type.Record(Type.String(), Type.Unknown(), { description: 'A policy document.' })
