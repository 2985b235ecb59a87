/**
 * Takes purges into the marks of this thread before it serves answers that they may select. Each request compares the head document, which is in
 * memory, and waits only if it has changed.
 */
import type { Logger, MaybePromise } from 'svc/kernel'
import { compilePattern } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { headId, idOfNumber, type PurgeDocuments, type StoredPurge } from './documents.ts'
import { PurgeMarks, type PurgeRule } from './marks.ts'

export interface PurgeIntake {
  readonly marks: PurgeMarks
  /** Resolves when every acknowledged purge is in the marks. */
  current(): MaybePromise<void>
  /** Reads the purge log. Purges that are no longer in it count as purges of everything. */
  start(): Promise<void>
}

export function createPurgeIntake(
  { purges, heads }: PurgeDocuments,
  log: Logger,
  normalizeKey: NormalizeKey,
): PurgeIntake {
  const marks = new PurgeMarks()
  let running: Promise<void> | undefined

  /**
   * Notes that purges up to this number may be unknown. The log is trimmed by age, so a newer purge may be gone before an older one, for example
   * after the clock was set back.
   */
  function unknownUpTo(number: number): void {
    if (number > marks.sequence) marks.base = Math.max(marks.base, number)
  }

  async function takeIn(head: number): Promise<void> {
    let startAfter: string | undefined = idOfNumber(marks.sequence)
    while (startAfter !== undefined) {
      const page: Awaited<ReturnType<typeof purges.list>> = await purges.list({ startAfter })
      for (const { id, value } of page.documents) {
        unknownUpTo(Number(id) - 1)
        marks.add(ruleOf(Number(id), value, log, normalizeKey))
      }
      startAfter = page.next
    }
    unknownUpTo(head)
    marks.sequence = Math.max(marks.sequence, head)
  }

  function of(head: number): MaybePromise<void> {
    if (head <= marks.sequence) return
    running ??= takeIn(head).finally(() => {
      running = undefined
    })
    return running.then(() => of(head))
  }

  return {
    marks,
    current() {
      const head = heads.get(headId)
      return head instanceof Promise ? head.then(read => of(read?.value.number ?? 0)) : of(head?.value.number ?? 0)
    },
    async start() {
      const first = (await purges.list({ limit: 1 })).documents[0]
      const head = await heads.get(headId)
      marks.base = first === undefined ? (head?.value.number ?? 0) : Number(first.id) - 1
      marks.sequence = marks.base
      await takeIn(head?.value.number ?? 0)
    },
  }
}

export function ruleOf(
  number: number,
  { request, places, createdMs }: StoredPurge,
  log: Logger,
  normalizeKey: NormalizeKey,
): PurgeRule {
  const { distribution, domain, patterns, tags, all, soft } = request
  const rule = { number, atMs: createdMs, distribution, domain, paths: places, tags, isSoft: soft }
  try {
    const inKeyForm = patterns.map(one => ({ ...one, pattern: normalizeKey(one.pattern) }))
    return { ...rule, isAll: all, patterns: inKeyForm.map(compilePattern) }
  } catch (error) {
    // Purges everything of the distribution, rather than less than was requested.
    log.error(
      { reason: (error as Error).message, invalidation: number },
      'a pattern cannot be read: everything is purged',
    )
    return { ...rule, isAll: true, domain: undefined, patterns: [] }
  }
}
