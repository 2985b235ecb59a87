/**
 * The documents of distributions, and this thread's table of them.
 *
 * | Collection | Document | Changes |
 * |---|---|---|
 * | `distribution` | one each | on each change of the distribution |
 * | `distribution-table` | `table` | with every change of any distribution, in the same commit |
 *
 * 1. A change is checked against all distributions: its commit requires that the table is the one that the check has read.
 * 2. An acknowledged change is in force for the next request in every thread: an outdated table is rebuilt before it routes.
 * 3. A distribution that cannot be prepared answers no request, and keeps its aliases.
 */
import { isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type {
  Collection,
  NamedUser,
  StoredDocument,
  StoreService,
  TransactionBuilder,
  Uses,
} from 'svc/plugins/store/api'
import { Type } from 'typebox'
import type { DistributionServer } from './api.ts'
import { type Distribution, StoredDistribution } from './document.ts'
import { createHostTable, type HostTable } from './host-table.ts'

export const distributionsMax = 1000
const triesMax = 16
const tableId = 'table'

/** A distribution with all that answering needs. */
export interface ReadyDistribution {
  readonly distribution: Distribution
  /** Undefined where it cannot be made ready. */
  readonly server: DistributionServer | undefined
  readonly restrictions: unknown
}

export interface Table<Ready> {
  /** Sequence number of the commit from which the table was made; 0 before the first distribution. */
  readonly sequence: number
  readonly hosts: HostTable<Ready>
}

export interface Change {
  readonly id: string
  /** Undefined deletes. */
  readonly value: StoredDistribution | undefined
  readonly ifMatch?: string
  readonly ifNoneMatch?: '*'
  /**
   * Changed, or required to be there, with it. Its conditions may fail while the table is as it was: then `decide` is called again.
   */
  readonly also?: (tx: TransactionBuilder) => void
}

export interface Registry<Ready> {
  /** The table as of the last acknowledged change. */
  table(): MaybePromise<Table<Ready>>
  get(id: string): MaybePromise<StoredDocument<StoredDistribution> | undefined>
  all(): Promise<readonly StoredDocument<StoredDistribution>[]>
  /** Why the document cannot be read; undefined if it can, or if it does not exist. */
  problem(id: string): MaybePromise<string | undefined>
  /** Reads which documents of others distributions name, kept until any distribution changes. */
  usesOf<User extends NamedUser>(
    namedBy: (distribution: StoredDocument<StoredDistribution>) => Iterable<readonly [id: string, user: User]>,
  ): () => Promise<Uses<User>>
  /** Calls this thread's listener soon after each change, and when changes may have been missed. */
  watch(listener: () => void): () => void
  /** All of them at one moment, for changes of many. */
  snapshot(): Promise<{
    readonly all: readonly StoredDocument<StoredDistribution>[]
    /** Fails the transaction where any distribution has changed since. */
    apply(tx: TransactionBuilder, changes: readonly Change[]): void
  }>
  /**
   * Commits the change that `decide` makes of all distributions; after a concurrent change it calls `decide` again. Throws
   * `precondition_failed` if the conditions of the change itself do not hold.
   */
  change(
    decide: (all: readonly StoredDocument<StoredDistribution>[]) => MaybePromise<Change | undefined>,
  ): Promise<StoredDocument<StoredDistribution> | undefined>
}

export interface RegistryOptions<Ready> {
  readonly store: StoreService
  readonly log: Logger
  /** Makes a distribution ready; throws where that is impossible. */
  readonly compile: (distribution: Distribution, etag: string) => Ready
}

/** Declares collections: during set-up. */
export function createRegistry<Ready>({ store, log, compile }: RegistryOptions<Ready>): Registry<Ready> {
  const documents: Collection<StoredDistribution> = store.collection({
    name: 'distribution',
    version: 1,
    schema: StoredDistribution,
  })
  const tables = store.collection({
    name: 'distribution-table',
    version: 1,
    archiveNote: 'not in it: changes with the distributions',
    schema: Type.Object({ changes: Type.Integer() }),
  })
  let current: Table<Ready> = { sequence: 0, hosts: createHostTable<Ready>([]) }
  let making: { readonly sequence: number; readonly table: Promise<Table<Ready>> } | undefined
  let ready = new Map<string, { readonly etag: string; readonly value: Ready }>()

  /** Fails the transaction where any distribution has changed since the table was read. */
  function fenceOf(table: StoredDocument<unknown> | undefined) {
    const condition = table === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: table.etag }
    return (tx: TransactionBuilder): void => {
      tx.require(tables, tableId, condition)
    }
  }

  async function all(): Promise<readonly StoredDocument<StoredDistribution>[]> {
    const found: StoredDocument<StoredDistribution>[] = []
    let startAfter: string | undefined = ''
    while (startAfter !== undefined) {
      const page: Awaited<ReturnType<typeof documents.list>> = await documents.list({ startAfter })
      found.push(...page.documents)
      startAfter = page.next
    }
    return found
  }

  async function make(sequence: number): Promise<Table<Ready>> {
    const next = new Map<string, { readonly etag: string; readonly value: Ready }>()
    const entries: (readonly [readonly string[], Ready])[] = []
    for (const { id, etag, value } of await all()) {
      const kept = ready.get(id)
      const made = kept?.etag === etag ? kept : makeReady(id, etag, value)
      if (made === undefined) continue
      next.set(id, made)
      entries.push([value.aliases, made.value])
    }
    const table = { sequence, hosts: createHostTable(entries) }
    // A slow reader must not overwrite a newer table.
    if (sequence >= current.sequence) {
      ready = next
      current = table
    }
    return table
  }

  function makeReady(id: string, etag: string, value: StoredDistribution) {
    try {
      return { etag, value: compile({ ...value, id }, etag) }
    } catch (error) {
      const reason = (error as Error).message
      log.error({ reason, distribution: id }, 'a stored distribution cannot be served: its hosts answer 421')
      return undefined
    }
  }

  function tableOf(sequence: number): MaybePromise<Table<Ready>> {
    if (sequence === current.sequence) return current
    if (making?.sequence === sequence) return making.table
    const table = make(sequence).finally(() => {
      if (making?.table === table) making = undefined
    })
    making = { sequence, table }
    return table
  }

  function usesOf<User extends NamedUser>(
    namedBy: (distribution: StoredDocument<StoredDistribution>) => Iterable<readonly [id: string, user: User]>,
  ): () => Promise<Uses<User>> {
    let known: { readonly etag: string; readonly byId: ReadonlyMap<string, readonly User[]> } | undefined
    return async () => {
      const table = await tables.get(tableId)
      const etag = table?.etag ?? ''
      if (known?.etag !== etag) known = { etag, byId: groupPairs((await all()).flatMap(each => [...namedBy(each)])) }
      return { byId: known.byId, fence: fenceOf(table) }
    }
  }

  function applyChanges(
    tx: TransactionBuilder,
    table: StoredDocument<{ changes: number }> | undefined,
    changes: readonly Change[],
  ): void {
    const seen = table === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: table.etag }
    tx.put(tables, tableId, { changes: (table?.value.changes ?? 0) + 1 }, seen)
    for (const { id, value, ifMatch, ifNoneMatch, also } of changes) {
      if (value === undefined) tx.delete(documents, id, { ifMatch: ifMatch ?? '*' })
      else tx.put(documents, id, value, { ifMatch, ifNoneMatch })
      also?.(tx)
    }
  }

  return {
    table() {
      const found = tables.get(tableId)
      return found instanceof Promise ? found.then(read => tableOf(read?.sequence ?? 0)) : tableOf(found?.sequence ?? 0)
    },
    get: id => documents.get(id),
    problem: id => documents.problem(id),
    all,
    usesOf,
    watch(listener) {
      let isDue = false
      let hasEnded = false
      // An import changes hundreds at once, and each listener reads all of them.
      const soon = () => {
        if (isDue) return
        isDue = true
        setImmediate(() => {
          isDue = false
          if (!hasEnded) listener()
        })
      }
      const unwatch = documents.watch(soon, soon)
      return () => {
        hasEnded = true
        unwatch()
      }
    },
    async snapshot() {
      const table = await tables.get(tableId)
      return {
        all: await all(),
        apply(tx, changes) {
          if (changes.length === 0) fenceOf(table)(tx)
          else applyChanges(tx, table, changes)
        },
      }
    },
    async change(decide) {
      for (let tries = 1; ; tries++) {
        const table = await tables.get(tableId)
        const change = await decide(await all())
        if (change === undefined) return undefined
        const { id, value, also } = change
        try {
          await store.transaction(tx => applyChanges(tx, table, [change]))
        } catch (error) {
          if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
          const isOvertaken = (await tables.get(tableId))?.etag !== table?.etag
          if (!isOvertaken && also === undefined) throw error
          if (tries >= triesMax) throw adminErrors.conflict('Others change distributions all the time. Try again.')
          continue
        }
        return value === undefined ? undefined : await documents.get(id)
      }
    },
  }
}

function groupPairs<User>(pairs: readonly (readonly [string, User])[]): ReadonlyMap<string, readonly User[]> {
  const byId = new Map<string, User[]>()
  for (const [id, user] of pairs) byId.set(id, [...(byId.get(id) ?? []), user])
  return byId
}
