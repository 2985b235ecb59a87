/** Needs as they are stored and compared: with their id and the plugin that declared them. */
import type { Contribution } from 'svc/kernel'
import { type Static, Type } from 'typebox'
import type { StoredNeed } from './api.ts'

/** Kind and name of a sign are strings, since a later release may have stored ones that this release does not know. */
export const NamedNeed = Type.Object(
  {
    id: Type.String(),
    plugin: Type.String(),
    sign: Type.Object({ kind: Type.String(), name: Type.String() }, { additionalProperties: false }),
    has: Type.String(),
    consequence: Type.String(),
  },
  { additionalProperties: false },
)

export type NamedNeed = Static<typeof NamedNeed>

export function namedNeeds(contributions: readonly Contribution<StoredNeed>[]): NamedNeed[] {
  return contributions.map(({ id, plugin, value: { sign, has, consequence } }) => ({
    id,
    plugin,
    sign: { kind: sign.kind, name: sign.name },
    has,
    consequence,
  }))
}

/** Merges by id: the last need with an id counts. Sorted, so that equal needs give equal documents. */
export function mergeNeeds(...lists: readonly (readonly NamedNeed[])[]): NamedNeed[] {
  const byId = new Map(lists.flat().map(need => [need.id, need]))
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}
