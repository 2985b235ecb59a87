/** A collection as its callers use it: reads go through the thread's cache, changes through the procedure `store.commit`. */

import { chain, isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import type { Cursor, StorageService } from 'svc/plugins/storage/api'
import type {
  ChangeOptions,
  Collection,
  CompiledDocuments,
  DocumentChange,
  DocumentPage,
  ListDocumentsRequest,
  Preconditions,
  QuarantinedDocument,
  StoredDocument,
  Written,
} from './api.ts'
import { type Decoded, decodeDocument, encodeDocument } from './codec.ts'
import type { CommitResult, Step } from './commit.ts'
import type { Declared } from './declaration.ts'
import { createDocumentCache, type DocumentCache, type Entry } from './document-cache.ts'
import { storeErrors } from './errors.ts'
import { type Generations, slotOf } from './generations.ts'
import {
  afterBucket,
  afterDocument,
  collectionRange,
  documentKey,
  isDocumentId,
  isOfBucket,
  parseDocumentKey,
} from './keys.ts'
import { asBuffer, sequenceOf } from './record.ts'
import type { Sealer } from './sealer.ts'
import type { Turns } from './turns.ts'

const pageMax = 1000
const compiledFormsMax = 16
/** Attempts of one `update`. Updates take turns, so only writers that do not (`put`) can make an attempt fail. */
const attemptsMax = 64

/** Shared by all collections of a thread. Generations and sealer are set from `start` on. */
export interface CollectionContext {
  readonly storage: StorageService
  readonly log: Logger
  readonly cacheBytes: number
  readonly turns: Turns
  generations: Generations
  sealer: Sealer
  onUnreadable(document: QuarantinedDocument): void
}

type Watcher = {
  readonly listener: (change: DocumentChange<unknown>) => void
  readonly onResync: (() => void) | undefined
}

export class DocumentCollection implements Collection<unknown> {
  readonly declared: Declared
  readonly #context: CollectionContext
  readonly #cache: DocumentCache
  readonly #watchers = new Set<Watcher>()
  #compiledForms = 0

  constructor(declared: Declared, context: CollectionContext) {
    this.declared = declared
    this.#context = context
    this.#cache = createDocumentCache(context.cacheBytes)
  }

  get cachedBytes(): number {
    return this.#cache.sizeBytes
  }

  get cachedIds(): string[] {
    return this.#cache.ids()
  }

  get(id: string): MaybePromise<StoredDocument<unknown> | undefined> {
    const entry = this.#cache.get(id)
    if (entry !== undefined && this.#context.generations.touched(entry.slot) === entry.generation) return entry.document
    return chain(this.#read(id), documentOf)
  }

  problem(id: string): MaybePromise<string | undefined> {
    return chain(this.#entry(id), entry => entry.problem)
  }

  compiled<C>(
    compile: (document: StoredDocument<unknown>) => C,
    bytesOf: (compiled: C) => number = () => 0,
  ): CompiledDocuments<C> {
    if (this.#compiledForms === compiledFormsMax) {
      throw new RangeError(
        `store: ${this.declared.name} has ${compiledFormsMax} compiled forms; they are declared once`,
      )
    }
    const form = this.#compiledForms++
    const compiledOf = (id: string, entry: Entry): C | undefined => {
      const { document } = entry
      if (document === undefined) return undefined
      entry.compiled ??= []
      const forms = entry.compiled
      // Wrapped in an object, because undefined may be the compiled value.
      const known = forms[form] as { readonly value: C } | undefined
      if (known !== undefined) return known.value
      const value = compile(document)
      forms[form] = { value }
      const bytes = bytesOf(value)
      if (bytes > 0) this.#cache.grow(id, entry, bytes)
      return value
    }
    return {
      get: id => {
        const entry = this.#cache.get(id)
        const isFresh = entry !== undefined && this.#context.generations.touched(entry.slot) === entry.generation
        return isFresh ? compiledOf(id, entry) : chain(this.#read(id), read => compiledOf(id, read))
      },
    }
  }

  #entry(id: string): MaybePromise<Entry> {
    const entry = this.#cache.get(id)
    if (entry !== undefined && this.#context.generations.touched(entry.slot) === entry.generation) return entry
    return this.#read(id)
  }

  /** Reads from storage, and caches the result unless a change was in progress. */
  #read(id: string): MaybePromise<Entry> {
    const { name, scope } = this.declared
    if (!isDocumentId(scope, id)) return nothing
    const { generations, storage } = this.#context
    const key = documentKey(scope, name, id)
    const slot = slotOf(key)
    const generation = generations.touched(slot)
    const isSettled = generations.isSettled(slot, generation)
    return chain(storage.get(key), record => {
      const entry = this.#entryOf(id, slot, record?.value)
      if (isSettled && generations.touched(slot) === generation) {
        entry.generation = generation
        this.#cache.set(id, entry, record?.value.length ?? 0)
      }
      return entry
    })
  }

  /** The cached entry, with its compiled values, if it has the same record; otherwise a new one. */
  #entryOf(id: string, slot: number, record: Uint8Array | undefined): Entry {
    if (record === undefined)
      return {
        sequence: 0,
        document: undefined,
        problem: undefined,
        slot,
        generation: 0,
        compiledBytes: 0,
        compiled: undefined,
      }
    const known = this.#remembered(id, record)
    return known ?? { ...this.decode(id, record), slot, generation: 0, compiledBytes: 0, compiled: undefined }
  }

  /** Reports a record that cannot be read. */
  decode(id: string, record: Uint8Array): Decoded {
    const decoded = decodeDocument(this.declared, id, record, this.#context.sealer)
    if (decoded.problem !== undefined) {
      this.#context.onUnreadable({ collection: this.declared.name, id, reason: decoded.problem })
    }
    return decoded
  }

  /** The document of a record; the cached one if it is the same. Does not fill the cache. */
  decodeAgain(id: string, record: Uint8Array): Decoded {
    return this.#remembered(id, record) ?? this.decode(id, record)
  }

  async peek(id: string): Promise<unknown> {
    if (this.declared.secrets.length > 0) throw new TypeError(`store: ${this.declared.name} has secret fields`)
    const record = await this.#context.storage.peek(documentKey(this.declared.scope, this.declared.name, id))
    return record && decodeDocument(this.declared, id, record.value, this.#context.sealer).document?.value
  }

  /** The document of a record that is no longer stored: no report if it cannot be read. */
  former(id: string, record: Uint8Array): StoredDocument<unknown> | undefined {
    const decoded = this.#remembered(id, record) ?? decodeDocument(this.declared, id, record, this.#context.sealer)
    return decoded.document
  }

  #remembered(id: string, record: Uint8Array): Entry | undefined {
    const known = this.#cache.peek(id)
    return known?.document !== undefined && known.sequence === sequenceOf(record) ? known : undefined
  }

  check(value: unknown): string | undefined {
    return this.declared.check(value)?.message
  }

  async put(id: string, value: unknown, options: ChangeOptions = {}): Promise<Written> {
    const step = this.putStep(id, value, options)
    const { sequence, modifiedMs } = await this.#commit(step.step)
    return { etag: step.etag, sequence, modifiedMs }
  }

  async delete(id: string, options: ChangeOptions = {}): Promise<boolean> {
    const { existed } = await this.#commit(this.deleteStep(id, options))
    return existed[0]!
  }

  #commit(step: Step): Promise<CommitResult> {
    return this.#context.storage.execute<CommitResult>('store.commit', [step])
  }

  putStep(id: string, value: unknown, options: ChangeOptions): { readonly step: Step; readonly etag: string } {
    const place = this.#place(id)
    const { record, etag } = encodeDocument(this.declared, id, value, this.#context.sealer)
    return { etag, step: { kind: 'put', ...place, ...conditionsOf(options), record } }
  }

  deleteStep(id: string, options: ChangeOptions): Step {
    return { kind: 'delete', ...this.#place(id), ...conditionsOf(options) }
  }

  requireStep(id: string, preconditions: Preconditions): Step {
    return { kind: 'require', ...this.#place(id), ...conditionsOf(preconditions) }
  }

  #place(id: string): Pick<Step, 'scope' | 'collection' | 'id'> {
    const { name: collection, scope } = this.declared
    if (!isDocumentId(scope, id)) {
      const rule = isOfBucket(scope) ? 'is the name of a bucket' : 'has 1 to 1024 bytes of UTF-8'
      throw storeErrors.invalid_document(`The id of a document of ${collection} ${rule}.`, {
        extra: { Collection: collection, Field: 'id' },
      })
    }
    return { scope, collection, id }
  }

  update(
    id: string,
    change: (current: StoredDocument<unknown> | undefined) => unknown,
  ): Promise<StoredDocument<unknown> | undefined> {
    return this.#context.turns.run(`${this.declared.name}\0${id}`, () => this.#update(id, change))
  }

  async #update(
    id: string,
    change: (current: StoredDocument<unknown> | undefined) => unknown,
  ): Promise<StoredDocument<unknown> | undefined> {
    for (let attempts = 0; attempts < attemptsMax; attempts++) {
      const current = await this.get(id)
      const next = change(current)
      if (next === undefined) return current
      try {
        const conditions = current === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: current.etag }
        const written = await this.put(id, next, conditions)
        const stored = await this.get(id)
        // Another writer may have changed it since: then the stored document is not ours.
        return stored?.sequence === written.sequence ? stored : { id, value: next, ...written }
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      }
    }
    throw storeErrors.busy(undefined, { extra: { Collection: this.declared.name, Id: id } })
  }

  list({
    prefix = '',
    startAfter = '',
    limit = pageMax,
  }: ListDocumentsRequest = {}): MaybePromise<DocumentPage<unknown>> {
    if (!Number.isInteger(limit) || limit < 1 || limit > pageMax) {
      throw new RangeError(`store: a page has 1 to ${pageMax} documents`)
    }
    if (!prefix.isWellFormed() || !startAfter.isWellFormed()) return { documents: [], next: undefined }
    const { name, scope } = this.declared
    const [first, end] = collectionRange(scope, name, prefix)
    const after =
      startAfter === '' ? first : isOfBucket(scope) ? afterBucket(startAfter) : afterDocument(name, startAfter)
    const start = after.compare(first) > 0 ? after : first
    if (start.compare(end) >= 0) return { documents: [], next: undefined }
    return this.#context.storage.scan(start, end, cursor => this.#page(cursor, limit))
  }

  #page(cursor: Cursor, limit: number): DocumentPage<unknown> {
    const { name, scope } = this.declared
    const documents: StoredDocument<unknown>[] = []
    for (let more = cursor.next(); more; ) {
      const { collection, id } = parseDocumentKey(asBuffer(cursor.key))!
      if (collection === name) {
        const { document } = this.decodeAgain(id, cursor.value)
        if (document !== undefined) {
          if (documents.length === limit) return { documents, next: documents.at(-1)?.id }
          documents.push(document)
        }
      }
      // The documents of a bucket are adjacent, in the order of their keys.
      if (!isOfBucket(scope)) more = cursor.next()
      else {
        const own = documentKey(scope, name, id)
        more = cursor.seek(own.compare(asBuffer(cursor.key)) > 0 ? own : afterBucket(id))
      }
    }
    return { documents, next: undefined }
  }

  watch(listener: (change: DocumentChange<unknown>) => void, onResync?: () => void): () => void {
    const watcher = { listener, onResync }
    this.#watchers.add(watcher)
    return () => {
      this.#watchers.delete(watcher)
    }
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0
  }

  tell(change: DocumentChange<unknown>): void {
    for (const { listener } of this.#watchers) this.#run(() => listener(change))
  }

  tellResync(): void {
    for (const { onResync } of this.#watchers) if (onResync !== undefined) this.#run(onResync)
  }

  /** Logs the error of a listener, so that the other listeners are still called. */
  #run(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#context.log.error({ err: error, collection: this.declared.name }, 'a listener to documents failed')
    }
  }

  /**
   * Compares a cached entry with the stored record, as a safety net for the generations. Drops an entry that differs, and reports the
   * change to the watchers. Resolves with whether the entry was right.
   */
  async verify(id: string): Promise<boolean> {
    const { name, scope } = this.declared
    const { generations, storage } = this.#context
    const known = this.#cache.peek(id)
    if (known === undefined || generations.touched(known.slot) !== known.generation) return true
    const record = await storage.get(documentKey(scope, name, id))
    const isSame =
      record === undefined
        ? known.document === undefined && known.problem === undefined
        : known.problem !== undefined || known.sequence === sequenceOf(record.value)
    if (isSame || generations.touched(known.slot) !== known.generation) return true
    const after = record === undefined ? undefined : this.decode(id, record.value).document
    this.#cache.delete(id)
    this.tell({ id, before: known.document, after })
    return false
  }
}

/** The entry of an invalid id, which no document can have. */
const nothing: Entry = Object.freeze({
  sequence: 0,
  document: undefined,
  problem: undefined,
  slot: 0,
  generation: 0,
  compiledBytes: 0,
  compiled: undefined,
})

function documentOf(entry: Entry): StoredDocument<unknown> | undefined {
  return entry.document
}

/** Copies the preconditions alone: the rest of the caller's object is not sent to the storage thread. */
function conditionsOf({ ifMatch, ifNoneMatch, overwriteUnreadable }: ChangeOptions): ChangeOptions {
  return { ifMatch, ifNoneMatch, overwriteUnreadable }
}
