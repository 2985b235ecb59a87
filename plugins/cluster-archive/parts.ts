/** Documents that belong to no bucket: out of this deployment, and into it. Each plugin that keeps some contributes a part. */
import type { MaybePromise, Point } from 'svc/kernel'
import { canonicalJson, differingFields } from 'svc/plugins/sealing/api'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { AfterImport, ArchivePart, ChangedFields } from './api.ts'
import type { ArchiveProblem } from './errors.ts'
import type { ImportMode } from './pending-import.ts'

/** Documents by id, by the name of their part. A part that an archive does not name stays as it is, also where `replace` is asked for. */
export type ArchivedParts = ReadonlyMap<string, ReadonlyMap<string, unknown>>

export interface PartPlan {
  /** `distribution/site` */
  readonly created: readonly string[]
  /** The same. */
  readonly changed: readonly string[]
  readonly fields: ChangedFields
  readonly removed: readonly string[]
}

export interface PartTransfer {
  /** The schemas of the parts, by their names. */
  schemas(): ReadonlyMap<string, TSchema>
  export(): Promise<ArchivedParts>
  check(
    wanted: ArchivedParts,
    mode: ImportMode,
    hasBucket: AfterImport['hasBucket'],
  ): Promise<{ readonly problems: readonly ArchiveProblem[]; readonly plan: PartPlan }>
  /** May be repeated. */
  apply(wanted: ArchivedParts, mode: ImportMode, mayGoOn: () => MaybePromise<void>): Promise<void>
}

/** The changes of one part. */
interface PartChange {
  readonly name: string
  readonly part: ArchivePart
  /** New ones among them. */
  readonly changed: ReadonlyMap<string, unknown>
  readonly created: ReadonlySet<string>
  readonly removed: readonly string[]
  readonly before: ReadonlyMap<string, unknown>
  readonly after: ReadonlyMap<string, unknown>
}

export const fileOfPart = (name: string): string => `documents/${name}.json`

export function createPartTransfer(point: Point<ArchivePart>): PartTransfer {
  const parts = () => inOrder(point.list().map(({ id, value }) => [id, value] as const))

  async function changesOf(wanted: ArchivedParts, mode: ImportMode): Promise<PartChange[]> {
    const changes: PartChange[] = []
    for (const [name, part] of parts()) {
      const before = await part.read()
      const given = wanted.get(name)
      const changed = [...(given ?? [])].filter(([id, value]) => !isSame(value, before.get(id)))
      const removed = given === undefined || mode === 'merge' ? [] : [...before.keys()].filter(id => !given.has(id))
      const after = new Map([...before, ...changed])
      for (const id of removed) after.delete(id)
      const created = new Set(changed.map(([id]) => id).filter(id => !before.has(id)))
      changes.push({ name, part, changed: new Map(changed), created, removed, before, after })
    }
    return changes
  }

  return {
    schemas: () => new Map(parts().map(([name, { schema }]) => [name, schema])),

    async export() {
      const found = new Map<string, ReadonlyMap<string, unknown>>()
      for (const [name, part] of parts()) found.set(name, await part.read())
      return found
    },

    async check(wanted, mode, hasBucket) {
      const changes = await changesOf(wanted, mode)
      const byName = new Map(changes.map(({ name, after }) => [name, after]))
      const after: AfterImport = { documents: name => byName.get(name), hasBucket }
      const problems: ArchiveProblem[] = []
      for (const { name, part, changed } of changes) {
        const formed = [...changed].filter(([, value]) => Value.Check(part.schema, value))
        for (const id of changed.keys()) {
          if (!formed.some(([known]) => known === id))
            problems.push({
              element: `${fileOfPart(name)}/${id}`,
              message: 'is not of the form that this release reads',
            })
        }
        for (const { element, message } of await part.problems(new Map(formed), after))
          problems.push({ element: `${fileOfPart(name)}/${element}`, message })
      }
      const place = (name: string) => (id: string) => `${name}/${id}`
      return {
        problems,
        plan: {
          created: changes.flatMap(({ name, created }) => [...created].map(place(name))),
          changed: changes.flatMap(({ name, changed, created }) =>
            [...changed.keys()].filter(id => !created.has(id)).map(place(name)),
          ),
          fields: new Map(
            changes.flatMap(({ name, changed, created, before }) =>
              [...changed]
                .filter(([id]) => !created.has(id))
                .map(([id, value]) => [place(name)(id), differingFields(before.get(id), value)] as const),
            ),
          ),
          removed: changes.flatMap(({ name, removed }) => removed.map(place(name))),
        },
      }
    },

    async apply(wanted, mode, mayGoOn) {
      const changes = await changesOf(wanted, mode)
      for (const { part, changed } of changes) if (changed.size > 0) await part.apply(changed, mayGoOn)
      for (const { part, removed } of changes.reverse()) if (removed.length > 0) await part.remove(removed, mayGoOn)
    },
  }
}

/** Each part after those that its documents name. */
function inOrder(parts: readonly (readonly [string, ArchivePart])[]): (readonly [string, ArchivePart])[] {
  const byName = new Map(parts)
  const ordered = new Map<string, ArchivePart>()
  const visit = (name: string, way: readonly string[]) => {
    const part = byName.get(name)
    if (part === undefined || ordered.has(name)) return
    if (way.includes(name)) throw new TypeError(`archive.part: ${[...way, name].join(' is after ')}`)
    for (const other of part.after ?? []) visit(other, [...way, name])
    ordered.set(name, part)
  }
  for (const name of [...byName.keys()].sort()) visit(name, [])
  return [...ordered]
}

const isSame = (one: unknown, other: unknown): boolean =>
  other !== undefined && canonicalJson(one) === canonicalJson(other)
