/** Extension points without their owner. */
import { Type } from 'typebox'
import type { PointDeclaration, PointName } from '../plugin.ts'

/** Points that take anything, for a plugin that stands where their owner stands. */
export function openPoints<const Name extends PointName>(...names: Name[]): Record<Name, PointDeclaration> {
  const open = { cardinality: 'many', schema: Type.Unknown() } as const
  return Object.fromEntries(names.map(name => [name, open])) as unknown as Record<Name, PointDeclaration>
}
