/**
 * Purges on request. Each is a document that every thread takes in before its next answer. Then the dead answers are removed from the memory of all
 * threads and from the tiers, and their number is stored in the document.
 */
import type { Clock, Logger, Threads } from 'svc/kernel'
import { isCatalogError } from 'svc/kernel'
import type { StoredDocument, StoreService } from 'svc/plugins/store/api'
import type { Invalidation, InvalidationKind } from '../api.ts'
import { cacheErrors } from '../errors.ts'
import { headId, idOfNumber, type PurgeDocuments, type StoredPurge } from './documents.ts'
import { decodedPath, type PurgeContext, type PurgeInput, readSelection } from './selection.ts'

export interface PurgeFacts extends StoredPurge {
  readonly id: string
}

export interface PurgesOptions {
  readonly store: StoreService
  readonly documents: PurgeDocuments
  readonly threads: Threads
  readonly clock: Clock
  readonly log: Logger
  readonly node: string
  /** Takes in new purges, and removes dead answers from the memory of this thread. Resolves with the number of answers by the number of the purge. */
  readonly sweep: () => Promise<ReadonlyMap<number, number>>
  /** The same for the tiers, which threads share. */
  readonly sweepTiers: () => Promise<ReadonlyMap<number, number>>
  /**
   * Resolves with the number of answers that a purge would remove, or let expire, in the memory of this thread; in the main thread also in the tiers.
   */
  readonly count: (purge: StoredPurge) => Promise<number>
  /** Tells caches in front of this server. */
  readonly tell: (invalidations: readonly Invalidation[]) => Promise<void>
}

export interface Purges {
  request(input: PurgeInput, context: PurgeContext): Promise<PurgeFacts>
  /** Purges nothing. Resolves with the facts of such a purge, with an empty id. */
  preview(input: PurgeInput, context: PurgeContext): Promise<PurgeFacts>
  /** Throws `invalidation_not_found`. */
  get(id: string): Promise<PurgeFacts>
  /** Purges, newest first. `before`: only those with a smaller number. */
  list(request: {
    readonly before: number | undefined
    readonly limit: number
    readonly matches: (facts: PurgeFacts) => boolean
  }): Promise<{ readonly items: readonly PurgeFacts[]; readonly next: number | undefined }>
  /** Called when every thread has started. Finishes purges that an earlier run has left. */
  serve(): void
  stop(): void
  /** Deletes purges that were finished more than a day ago. */
  trim(): Promise<'idle'>
}

const sweepMessage = 'cache.sweep'
const countMessage = 'cache.count'
const keptMs = 24 * 3_600_000
const attemptsMax = 64
const scannedMax = 10_000

const nameOf = (number: number) => `inv-${number}`
const factsOf = ({ id, value }: StoredDocument<StoredPurge>): PurgeFacts => ({ ...value, id: nameOf(Number(id)) })

export function createPurges(options: PurgesOptions): Purges {
  const { store, documents, threads, clock, log, node, sweep, sweepTiers, count, tell } = options
  const { purges, heads } = documents
  let endWatch: (() => void) | undefined
  let isFinishing = false
  let isWanted = false

  threads.handle(sweepMessage, async () => [...(await sweep())])
  threads.handle(countMessage, count)

  /** In the main thread: removes the answers that open purges select, in all threads and tiers, and stores how many. */
  async function finishOpen(): Promise<void> {
    const open = (await newest()).filter(({ value }) => value.state === 'in-progress')
    if (open.length === 0) return
    const own = [[...(await sweep())], [...(await sweepTiers())]]
    const counts = [...own, ...(await threads.callOthers<[number, number][]>(sweepMessage))].flat()
    for (const { id } of open) {
      const removed = counts.filter(([number]) => number === Number(id)).reduce((sum, [, count]) => sum + count, 0)
      const nowMs = clock.now()
      await purges.update(id, current => {
        if (current === undefined || current.value.state !== 'in-progress') return undefined
        const nodes = [{ node, state: 'done' as const, atMs: nowMs, removed }]
        return { ...current.value, nodes, state: 'completed', finishedMs: nowMs }
      })
    }
  }

  async function newest(): Promise<StoredDocument<StoredPurge>[]> {
    const head = (await heads.get(headId))?.value.number ?? 0
    const startAfter = idOfNumber(Math.max(0, head - scannedMax))
    const found: StoredDocument<StoredPurge>[] = []
    for (let after: string | undefined = startAfter; after !== undefined; ) {
      const page: Awaited<ReturnType<typeof purges.list>> = await purges.list({ startAfter: after })
      found.push(...page.documents)
      after = page.next
    }
    return found.reverse()
  }

  function finish(): void {
    isWanted = true
    if (!isFinishing) void finishAll()
  }

  async function finishAll(): Promise<void> {
    isFinishing = true
    try {
      while (isWanted) {
        isWanted = false
        await finishOpen()
      }
    } catch (error) {
      // The purges are in force all the same; the next purge, or a restart, finishes them.
      log.warn({ err: error }, 'what was purged could not be removed from memory yet')
    } finally {
      isFinishing = false
    }
  }

  async function append(value: StoredPurge): Promise<string> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const head = await heads.get(headId)
      const number = (head?.value.number ?? 0) + 1
      const seen = head === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag }
      try {
        await store.transaction(tx => {
          tx.put(heads, headId, { number }, seen)
          tx.put(purges, idOfNumber(number), value, { ifNoneMatch: '*' })
        })
        return idOfNumber(number)
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      }
    }
    throw cacheErrors.conflict('Others purge all the time. Try again.')
  }

  return {
    async request(input, context) {
      const { request, places } = readSelection(input, context)
      const nodes = [{ node, state: 'pending' as const, removed: 0 }]
      const value: StoredPurge = { request, places, createdMs: clock.now(), state: 'in-progress', nodes }
      const id = await append(value)
      const facts = { ...value, id: nameOf(Number(id)) }
      await tell(invalidationsOf(facts))
      return facts
    },
    async preview(input, context) {
      const { request, places } = readSelection(input, context)
      const nowMs = clock.now()
      const value: StoredPurge = { request, places, createdMs: nowMs, state: 'in-progress', nodes: [] }
      const counts = [await count(value), ...(await threads.callOthers<number>(countMessage, value))]
      const removed = counts.reduce((sum, one) => sum + one, 0)
      const nodes = [{ node, state: 'done' as const, atMs: nowMs, removed }]
      return { ...value, id: '', state: 'completed', finishedMs: nowMs, nodes }
    },
    async get(id) {
      const number = /^inv-(\d{1,16})$/.exec(id)?.[1]
      const found = number === undefined ? undefined : await purges.get(idOfNumber(Number(number)))
      if (found === undefined) throw cacheErrors.invalidation_not_found()
      return factsOf(found)
    },
    async list({ before = Number.POSITIVE_INFINITY, limit, matches }) {
      const all = (await newest())
        .filter(({ id }) => Number(id) < before)
        .map(factsOf)
        .filter(matches)
      const items = all.slice(0, limit)
      const last = items.at(-1)
      return { items, next: all.length > limit && last ? Number(last.id.slice(4)) : undefined }
    },
    serve() {
      if (!threads.isMain) return
      endWatch = heads.watch(finish, finish)
      finish()
    },
    stop: () => endWatch?.(),
    async trim() {
      const oldMs = clock.now() - keptMs
      for (const { id, value } of (await purges.list()).documents) {
        if (value.finishedMs !== undefined && value.finishedMs < oldMs) await purges.delete(id)
      }
      return 'idle'
    },
  }
}

/** The invalidations that caches in front of this server are told. */
function invalidationsOf({ id, request }: PurgeFacts): readonly Invalidation[] {
  const { distribution, domain, paths, patterns, tags, all, soft } = request
  const told = (kind: InvalidationKind, items: readonly string[], isCaseInsensitive = false): Invalidation => ({
    id,
    distribution,
    kind,
    items,
    isCaseInsensitive,
    isSoft: soft,
  })
  const found: Invalidation[] = []
  if (all) found.push(domain === undefined ? told('all', []) : told('domain', [domain]))
  // As keys, whichever way they were written; those with a host are URLs.
  if (paths.length > 0)
    found.push(
      told(
        'path',
        paths.map(path => (path.startsWith('/') ? decodedPath(path) : path)),
      ),
    )
  for (const { type, pattern, caseInsensitive = false } of patterns) found.push(told(type, [pattern], caseInsensitive))
  if (tags.length > 0) found.push(told('tag', tags))
  return found
}
