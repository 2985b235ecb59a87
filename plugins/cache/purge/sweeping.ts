/** Removes dead answers from the memory of this thread, some at a time, and counts them by the purge that selects them. */
import type { Memory } from '../engine/memory.ts'
import { entryOf, expireAt, type Variant, variantsOf } from '../engine/variant.ts'
import type { GuardedTier } from '../tiers/guarded-tier.ts'
import { type HeadFacts, readHead } from '../tiers/record.ts'
import type { PurgeMarks } from './marks.ts'

const entriesPerTurn = 5000
const headsPerTurn = 256

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

/**
 * Of the tiers that can list: what is dead there is deleted. What a soft purge selects stays: it is compared when it is read, as the rest is
 * that cannot be listed. Resolves like `sweep`.
 */
export async function sweepTiers(
  tiers: readonly GuardedTier[],
  marks: PurgeMarks,
): Promise<ReadonlyMap<number, number>> {
  const removed = new Map<number, number>()
  for (const tier of tiers) {
    for (let after: Buffer | undefined; ; ) {
      const page = await tier.heads(after, headsPerTurn)
      for (const { id, head } of page) {
        const facts = readHead(id, head)
        if (facts === undefined) continue
        const number = facts === 'damaged' ? undefined : deadBy(marks, facts)
        if (number === undefined && facts !== 'damaged') continue
        await tier.delete(id)
        if (number !== undefined) removed.set(number, (removed.get(number) ?? 0) + 1)
      }
      after = page.at(-1)?.id
      if (after === undefined) break
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  return removed
}

function deadBy(
  marks: PurgeMarks,
  { space: distribution, host, path, tags, purgeSequence }: HeadFacts,
): number | undefined {
  if (purgeSequence >= marks.sequence) return undefined
  const mark = marks.find({ distribution, host, path, tags }, purgeSequence)
  return mark === undefined || mark.isSoft ? undefined : mark.number
}

/** Resolves with the number of removed, or expired, answers by the number of the purge. */
export async function sweep(memory: Memory, marks: PurgeMarks): Promise<ReadonlyMap<number, number>> {
  const removed = new Map<number, number>()
  const count = (number: number) => removed.set(number, (removed.get(number) ?? 0) + 1)
  let left = entriesPerTurn
  for (const id of memory.ids()) {
    const entry = memory.peek(id)
    if (entry !== undefined) {
      const kept = variantsOf(entry).filter(variant => {
        const before = variant.softSequence
        const deadBy = applyMarks(marks, variant)
        if (deadBy !== undefined) count(deadBy)
        else if (variant.softSequence > before) count(variant.softSequence)
        return deadBy === undefined
      })
      if (kept.length === 0) memory.delete(id)
      else if (kept.length < variantsOf(entry).length) memory.put(id, entryOf(kept))
    }
    if (--left > 0) continue
    left = entriesPerTurn
    await new Promise(resolve => setImmediate(resolve))
  }
  return removed
}
