/**
 * The documents of distributions, and this thread's table of them.
 *
 * | Collection | Document | Changes |
 * |---|---|---|
 * | `distribution` | one each | on each change of the distribution |
 * | `distribution-table` | `table` | with every change of any distribution, in the same commit |
 * | `distribution-bucket` | for each bucket that one publishes | in the same commit: with it the bucket is not deleted |
 * | `distribution-log` | for each bucket that logs are written into: whose | in the same commit; it is deleted with the bucket |
 *
 * 1. A change is checked against all distributions: its commit requires that the table is the one that the check has read.
 * 2. An acknowledged change is in force for the next request in every thread: an outdated table is rebuilt before it routes.
 * 3. A distribution that cannot be prepared answers no request, and keeps its aliases.
 * 4. A bucket that a distribution publishes stays: no distribution publishes the next bucket of that name.
 * 5. A log ends with its bucket: it does not go on in the next bucket of that name, until the distribution is saved again.
 * 6. Documents are read in the form of SVC_KEY_NORMALIZATION, whatever the form in which they were stored.
 */
import { chain, isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type {
  Collection,
  NamedUser,
  StoredDocument,
  StoreService,
  TransactionBuilder,
  Uses,
} from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { DistributionServer } from './api.ts'
import { type Distribution, StoredDistribution } from './document.ts'
import { createHostTable, type HostTable } from './host-table.ts'
import { inKeyForm } from './key-form.ts'
import { logBucketOf } from './log-target.ts'

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
  /** Whether the bucket is the one that was there when the distribution was saved, to write its log into. */
  mayLog(id: string, bucket: string): MaybePromise<boolean>
  /**
   * Makes rules 4 and 5 hold for distributions of earlier versions: one whose bucket has gone is disabled. Resolves with these, and with
   * those whose log ends so.
   */
  keepBuckets(): Promise<readonly LostBucket[]>
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

export interface LostBucket {
  readonly id: string
  readonly bucket: string
  readonly isOfLog: boolean
}

export interface RegistryOptions<Ready> {
  readonly store: StoreService
  readonly log: Logger
  /** Makes a distribution ready; throws where that is impossible. */
  readonly compile: (distribution: Distribution, etag: string) => Ready
  readonly normalizeKey: NormalizeKey
}

const TableDocument = Type.Object({
  changes: Type.Integer(),
  /** There are documents of rule 5. */
  hasLogs: Type.Optional(Type.Boolean()),
})

/** The distributions that have begun to write logs into this very bucket. */
const LogWriters = Type.Object({ writers: Type.Array(Type.String()) })
type LogWriters = Static<typeof LogWriters>

interface Read {
  readonly table: StoredDocument<Static<typeof TableDocument>> | undefined
  readonly all: readonly StoredDocument<StoredDistribution>[]
  /** Of the buckets that distributions write their logs into. */
  readonly logs: ReadonlyMap<string, StoredDocument<LogWriters>>
}

/** Declares collections: during set-up. */
export function createRegistry<Ready>({ store, log, compile, normalizeKey }: RegistryOptions<Ready>): Registry<Ready> {
  const documents: Collection<StoredDistribution> = store.collection({
    name: 'distribution',
    version: 1,
    schema: StoredDistribution,
  })
  const tables = store.collection({
    name: 'distribution-table',
    version: 1,
    archiveNote: 'not in it: changes with the distributions',
    schema: TableDocument,
  })
  const buckets = store.collection({
    name: 'distribution-bucket',
    version: 1,
    scope: 'bucket-keeper',
    archiveNote: 'not in it: changes with the distributions',
    schema: Type.Object({}),
  })
  const logs = store.collection({
    name: 'distribution-log',
    version: 1,
    scope: 'bucket',
    archiveNote: 'not in it: changes with the distributions',
    schema: LogWriters,
  })
  let current: Table<Ready> = { sequence: 0, hosts: createHostTable<Ready>([]) }
  let making: { readonly sequence: number; readonly table: Promise<Table<Ready>> } | undefined
  let ready = new Map<string, { readonly etag: string; readonly value: Ready }>()

  const normalized = (document: StoredDocument<StoredDistribution>): StoredDocument<StoredDistribution> => ({
    ...document,
    value: inKeyForm(document.value, normalizeKey),
  })

  function get(id: string): MaybePromise<StoredDocument<StoredDistribution> | undefined> {
    return chain(documents.get(id), found => found && normalized(found))
  }

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
      found.push(...page.documents.map(normalized))
      startAfter = page.next
    }
    return found
  }

  /** The table is read first: what changes after that fails the commit. */
  async function readAll(): Promise<Read> {
    const table = await tables.get(tableId)
    const found = await all()
    const targets = new Set(found.flatMap(({ value }) => logBucketOf(value)?.bucket ?? []))
    const entries = await Promise.all([...targets].map(async bucket => [bucket, await logs.get(bucket)] as const))
    return { table, all: found, logs: new Map(entries.filter(hasValue)) }
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

  /** Every thread reads the distributions again. Fails the transaction where any has changed since the table was read. */
  function announce(tx: TransactionBuilder, table: Read['table']): void {
    const seen = table === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: table.etag }
    tx.put(tables, tableId, { changes: (table?.value.changes ?? 0) + 1, hasLogs: true }, seen)
  }

  function applyChanges(tx: TransactionBuilder, read: Read, changes: readonly Change[]): void {
    const { table, all } = read
    announce(tx, table)
    for (const { id, value, ifMatch, ifNoneMatch, also } of changes) {
      if (value === undefined) tx.delete(documents, id, { ifMatch: ifMatch ?? '*' })
      else tx.put(documents, id, value, { ifMatch, ifNoneMatch })
      also?.(tx)
    }
    const overwrite = { overwriteUnreadable: true }
    const { named, left } = bucketsOf(all, changes)
    for (const bucket of named) tx.put(buckets, bucket, {}, overwrite)
    for (const bucket of left) tx.delete(buckets, bucket, overwrite)
    for (const { bucket, before, writers } of writersAfter(read, changes)) {
      // It may have been deleted meanwhile, and made again by somebody else: then nobody of before writes there.
      tx.put(logs, bucket, { writers }, { ...overwrite, ...(before !== undefined && { ifMatch: before.etag }) })
    }
  }

  async function change(decide: (all: Read['all']) => MaybePromise<Change | undefined>) {
    for (let tries = 1; ; tries++) {
      const read = await readAll()
      const { table } = read
      const decided = await decide(read.all)
      if (decided === undefined) return undefined
      const { id, value, also } = decided
      try {
        await store.transaction(tx => applyChanges(tx, read, [decided]))
      } catch (error) {
        if (!isCatalogError(error) || tries > triesMax) throw error
        // Deleted a moment ago: what is left of the change then, is for the next try.
        if (error.code === 'bucket_not_found') continue
        if (error.code !== 'precondition_failed') throw error
        const isOvertaken = (await tables.get(tableId))?.etag !== table?.etag
        const hasLog = [value, read.all.find(other => other.id === id)?.value].some(one => one && logBucketOf(one))
        if (!isOvertaken && also === undefined && !hasLog) throw error
        if (tries === triesMax) throw adminErrors.conflict('Others change distributions all the time. Try again.')
        continue
      }
      return value === undefined ? undefined : await get(id)
    }
  }

  /** Whether the bucket is there, and stays. */
  async function keep(bucket: string): Promise<boolean> {
    return (await buckets.get(bucket)) !== undefined || put(buckets, bucket, {})
  }

  /** Of an earlier version: each log goes on where it goes. Resolves with those whose bucket is not there. */
  async function adoptLogs(all: readonly StoredDocument<StoredDistribution>[]): Promise<readonly LostBucket[]> {
    const lost: LostBucket[] = []
    const writing = all.filter(({ value }) => logBucketOf(value) !== undefined)
    for (const [bucket, of] of Map.groupBy(writing, ({ value }) => logBucketOf(value)!.bucket)) {
      const writers = of.map(({ id }) => id)
      if (await put(logs, bucket, { writers })) continue
      lost.push(...writers.map(id => ({ id, bucket, isOfLog: true })))
    }
    return lost
  }

  /** False where there is no such bucket. */
  async function put<T>(collection: Collection<T>, bucket: string, value: T): Promise<boolean> {
    try {
      await collection.put(bucket, value, { overwriteUnreadable: true })
      return true
    } catch (error) {
      if (!isCatalogError(error) || error.code !== 'bucket_not_found') throw error
      return false
    }
  }

  return {
    table() {
      const found = tables.get(tableId)
      return found instanceof Promise ? found.then(read => tableOf(read?.sequence ?? 0)) : tableOf(found?.sequence ?? 0)
    },
    get,
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
    mayLog(id, bucket) {
      const found = logs.get(bucket)
      const has = (document: StoredDocument<LogWriters> | undefined) => document?.value.writers.includes(id) === true
      return found instanceof Promise ? found.then(has) : has(found)
    },
    async keepBuckets() {
      const { table, all: found } = await readAll()
      const lost: LostBucket[] = []
      if (found.length > 0 && table?.value.hasLogs !== true) lost.push(...(await adoptLogs(found)))
      const gone: StoredDocument<StoredDistribution>[] = []
      for (const document of found) {
        const { bucket } = document.value.origin
        if (!(await keep(bucket)) && document.value.enabled) gone.push(document)
      }
      if (gone.length > 0 || (found.length > 0 && table?.value.hasLogs !== true)) {
        await store.transaction(tx => {
          announce(tx, table)
          for (const { id, etag, value } of gone) tx.put(documents, id, { ...value, enabled: false }, { ifMatch: etag })
        })
      }
      return [...lost, ...gone.map(({ id, value }) => ({ id, bucket: value.origin.bucket, isOfLog: false }))]
    },
    async snapshot() {
      const read = await readAll()
      return {
        all: read.all,
        apply(tx, changes) {
          if (changes.length === 0) fenceOf(read.table)(tx)
          else applyChanges(tx, read, changes)
        },
      }
    },
    change,
  }
}

/** The buckets that the changed distributions publish, and those that no distribution publishes any more. */
function bucketsOf(all: readonly StoredDocument<StoredDistribution>[], changes: readonly Change[]) {
  const changed = new Set(changes.map(({ id }) => id))
  const named = new Set(changes.flatMap(({ value }) => value?.origin.bucket ?? []))
  const others = new Set(all.flatMap(({ id, value }) => (changed.has(id) ? [] : value.origin.bucket)))
  const before = new Set(all.flatMap(({ id, value }) => (changed.has(id) ? value.origin.bucket : [])))
  return { named, left: [...before].filter(bucket => !named.has(bucket) && !others.has(bucket)) }
}

/**
 * Who has begun to write into each bucket that a changed distribution writes its log into. Whoever stops stays in it: lines of before may
 * wait still.
 */
function writersAfter({ all, logs }: Pick<Read, 'all' | 'logs'>, changes: readonly Change[]) {
  const after = new Map(all.map(({ id, value }) => [id, logBucketOf(value)?.bucket]))
  for (const { id, value } of changes) after.set(id, value && logBucketOf(value)?.bucket)
  const buckets = new Set(changes.map(({ id }) => after.get(id)).filter(bucket => bucket !== undefined))
  return [...buckets].map(bucket => {
    const before = logs.get(bucket)
    const now = changes.flatMap(({ id }) => (after.get(id) === bucket ? id : []))
    const writers = [...new Set([...(before?.value.writers ?? []), ...now])].sort()
    const isFull = writers.length > 2 * distributionsMax
    return { bucket, before, writers: isFull ? writers.filter(id => after.get(id) === bucket) : writers }
  })
}

function hasValue<K, V>(entry: readonly [K, V | undefined]): entry is readonly [K, V] {
  return entry[1] !== undefined
}

function groupPairs<User>(pairs: readonly (readonly [string, User])[]): ReadonlyMap<string, readonly User[]> {
  const byId = new Map<string, User[]>()
  for (const [id, user] of pairs) byId.set(id, [...(byId.get(id) ?? []), user])
  return byId
}
