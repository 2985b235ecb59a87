/** Removes dead answers from the memory of this thread, some at a time, and counts them by the purge that selects them. */
import type { Memory } from '../engine/memory.ts'
import { entryOf, expireAt, type Variant, variantsOf } from '../engine/variant.ts'
import { PurgeMarks, type PurgeRule } from './marks.ts'

const entriesPerTurn = 5000

/** Dead, or expired by a soft purge since it was last looked at; undefined: as it was. */
export function applyMarks(marks: PurgeMarks, variant: Variant, host = variant.host): number | undefined {
  if (variant.purgeSequence >= marks.sequence) return undefined
  if (variant.checkedSequence === marks.sequence && variant.checkedHost === host) return undefined
  const { space: distribution, path } = variant
  const tags = variant.record?.tags ?? []
  const mark = marks.find({ distribution, host, path, tags }, variant.purgeSequence)
  if (mark !== undefined && !mark.isSoft) return mark.number
  if (mark !== undefined && mark.number > variant.softSequence) expireAt(variant, mark)
  variant.checkedSequence = marks.sequence
  variant.checkedHost = host
  return undefined
}

/** Resolves with the number of removed, or expired, answers by the number of the purge. */
export async function sweep(memory: Memory, marks: PurgeMarks): Promise<ReadonlyMap<number, number>> {
  const removed = new Map<number, number>()
  const count = (number: number) => removed.set(number, (removed.get(number) ?? 0) + 1)
  await visitAll(memory, (id, variants) => {
    const kept = variants.filter(variant => {
      const before = variant.softSequence
      const deadBy = applyMarks(marks, variant)
      if (deadBy !== undefined) count(deadBy)
      else if (variant.softSequence > before) count(variant.softSequence)
      return deadBy === undefined
    })
    if (kept.length === 0) memory.delete(id)
    else if (kept.length < variants.length) memory.put(id, entryOf(kept))
  })
  return removed
}

/** Resolves with the number of answers that this purge would remove, or expire. Removes nothing. */
export async function countSelected(memory: Memory, marks: PurgeMarks, rule: PurgeRule): Promise<number> {
  const wanted = new PurgeMarks()
  wanted.add(rule)
  let count = 0
  await visitAll(memory, (_id, variants) => {
    for (const variant of variants) {
      const { space: distribution, host, path, record } = variant
      const place = { distribution, host, path, tags: record?.tags ?? [] }
      if (wanted.find(place, 0) !== undefined && applyMarks(marks, variant) === undefined) count++
    }
  })
  return count
}

async function visitAll(memory: Memory, visit: (id: string, variants: readonly Variant[]) => void): Promise<void> {
  let left = entriesPerTurn
  for (const id of memory.ids()) {
    const entry = memory.peek(id)
    if (entry !== undefined) visit(id, variantsOf(entry))
    if (--left > 0) continue
    left = entriesPerTurn
    await new Promise(resolve => setImmediate(resolve))
  }
}
