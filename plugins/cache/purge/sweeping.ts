/** Removes dead answers from the memory of this thread, some at a time, and counts them by the purge that selects them. */
import type { MaybePromise } from 'svc/kernel'
import type { Memory } from '../engine/memory.ts'
import { entryOf, expireAt, type Variant, variantsOf } from '../engine/variant.ts'
import type { GuardedTier } from '../tiers/guarded-tier.ts'
import { type HeadFacts, readHead } from '../tiers/record.ts'
import { PurgeMarks, type PurgeRule } from './marks.ts'

const entriesPerTurn = 2500
const headsPerTurn = 256

/** The number of the purge that has killed the answer; undefined if none has. Lets the answer expire if a soft purge selects it. */
export function applyMarks(marks: PurgeMarks, variant: Variant, host = variant.host): number | undefined {
  if (variant.purgeSequence >= marks.sequence) return undefined
  if (variant.checkedSequence === marks.sequence && variant.checkedHost === host) return undefined
  const { space: distribution, path, tags } = variant
  const mark = marks.find({ distribution, host, path, tags }, variant.purgeSequence)
  if (mark !== undefined && !mark.isSoft) return mark.number
  if (mark !== undefined && mark.number > variant.softSequence) expireAt(variant, mark)
  variant.checkedSequence = marks.sequence
  variant.checkedHost = host
  return undefined
}

/**
 * Deletes dead and damaged records from the tiers that can list. Records that a soft purge selects stay: they are compared when they are read, as are
 * all records of tiers that cannot list. Resolves like `sweep`.
 */
export async function sweepTiers(
  tiers: readonly GuardedTier[],
  marks: PurgeMarks,
): Promise<ReadonlyMap<number, number>> {
  const removed = new Map<number, number>()
  await visitHeads(tiers, async (facts, tier, id) => {
    const number = facts === 'damaged' ? undefined : deadBy(marks, facts)
    if (number === undefined && facts !== 'damaged') return
    await tier.delete(id)
    if (number !== undefined) removed.set(number, (removed.get(number) ?? 0) + 1)
  })
  return removed
}

/** Resolves with the number of entries of the tiers that this purge would remove, or expire. Removes nothing. */
export async function countInTiers(tiers: readonly GuardedTier[], marks: PurgeMarks, rule: PurgeRule): Promise<number> {
  const wanted = new PurgeMarks()
  wanted.add(rule)
  let count = 0
  await visitHeads(tiers, facts => {
    if (facts === 'damaged' || deadBy(marks, facts) !== undefined) return
    const { space: distribution, host, path, tags } = facts
    if (wanted.find({ distribution, host, path, tags }, 0) !== undefined) count++
  })
  return count
}

/** Calls `visit` for all entries of the tiers that can list, some at a time. */
async function visitHeads(
  tiers: readonly GuardedTier[],
  visit: (facts: HeadFacts | 'damaged', tier: GuardedTier, id: Buffer) => MaybePromise<void>,
): Promise<void> {
  for (const tier of tiers) {
    for (let after: Buffer | undefined; ; ) {
      const page = await tier.heads(after, headsPerTurn)
      for (const { id, head } of page) {
        const facts = readHead(id, head)
        // Undefined: the record is a block.
        if (facts !== undefined) await visit(facts, tier, id)
      }
      after = page.at(-1)?.id
      if (after === undefined) break
      await new Promise(resolve => setImmediate(resolve))
    }
  }
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
  await visitAll(memory, (id, variants) => {
    const kept = variants.filter(variant => {
      const before = variant.softSequence
      const deadBy = applyMarks(marks, variant)
      if (deadBy !== undefined) count(deadBy)
      else if (variant.softSequence > before) count(variant.softSequence)
      return deadBy === undefined
    })
    if (kept.length === 0) memory.delete(id)
    else if (kept.length < variants.length) memory.put(id, entryOf(kept), undefined)
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
      const { space: distribution, host, path, tags } = variant
      const place = { distribution, host, path, tags }
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
