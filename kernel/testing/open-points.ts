/** Extension points without their owner. */
import { Type } from 'typebox'
import type { PointDeclaration, PointName } from '../plugin.ts'

/** Points that take anything, lists too: for stand-ins of the plugins that own them, in tests. */
export function openPoints<const Name extends PointName>(...names: Name[]): Record<Name, PointDeclaration> {
  const listed = {
    id: (entry: { readonly id?: string; readonly name?: string }) => entry.id ?? entry.name ?? '',
    bind: (entry: unknown) => entry,
  }
  const declaration = { cardinality: 'many', schema: Type.Unknown(), listed } as const
  return Object.fromEntries(names.map(name => [name, declaration])) as unknown as Record<Name, PointDeclaration>
}
