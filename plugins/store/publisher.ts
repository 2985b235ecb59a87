/**
 * The part of the storage thread: notices every change of a document, by any thread, and reports it to all threads when it is durable.
 * Storage calls `derive` inside each commit, before anything is durable; that increments the counter of the document's slot, and from then
 * on no thread trusts its cached entry (generations.ts). Then a procedure without changes is sent after the commit: when it resolves, every
 * earlier commit is durable or has failed, and the stored state is published.
 */
import type { Logger } from 'svc/kernel'
import type { Derive, StorageService } from 'svc/plugins/storage/api'
import { type Generations, slotOf } from './generations.ts'
import { countKey, parseDocumentKey } from './keys.ts'
import { asBuffer, isSealedRecord, sequenceOf } from './record.ts'

/** A change of one document as it is sent to threads: bytes of records, secrets sealed. */
export interface RecordChange {
  readonly key: Uint8Array
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | undefined
}

export interface Notice {
  /** Increases by one; a gap means that a notice was missed. */
  readonly number: number
  readonly changes: readonly RecordChange[]
}

export interface PublisherOptions {
  readonly storage: StorageService
  readonly generations: Generations
  readonly log: Logger
  readonly deliver: (notice: Notice) => void
}

interface Pending {
  readonly key: Buffer
  readonly slot: number
  /** The record as last published, or as before the first change since. */
  before: Buffer | undefined
  touches: number
}

export interface Publisher {
  readonly derive: Derive
  /** Starts publishing; before it no thread caches anything. */
  open(): void
  close(): void
  /** Publishes changes that could not be published before. */
  retry(): void
}

export function createPublisher({ storage, generations, log, deliver }: PublisherOptions): Publisher {
  /** Bounded by the commits that storage runs before they are durable. */
  const pending = new Map<string, Pending>()
  let isOpen = false
  let isSettling = false

  const touch = (key: Buffer, before: Uint8Array | undefined): void => {
    const text = key.toString('latin1')
    let entry = pending.get(text)
    if (entry === undefined) {
      entry = { key: Buffer.from(key), slot: slotOf(key), before: before && Buffer.from(before), touches: 0 }
      pending.set(text, entry)
    }
    entry.touches++
    generations.touch(entry.slot)
    if (isSettling) return
    isSettling = true
    // Changes of one turn of the event loop are published together.
    setImmediate(settle)
  }

  const settle = async (): Promise<void> => {
    try {
      while (isOpen && pending.size > 0) {
        const round = [...pending].map(([text, entry]) => ({
          text,
          entry,
          touches: entry.touches,
          generation: generations.touched(entry.slot),
        }))
        await storage.execute('store.settle', undefined)
        const changes: RecordChange[] = []
        for (const { text, entry, touches } of round) {
          const { key, before } = entry
          const record = await storage.get(key)
          const after = record === undefined ? undefined : Buffer.from(record.value)
          // Made and deleted before anybody was told: whoever had it in hand waits for the word.
          const isGone = before === undefined && after === undefined && touches > 1
          if (isGone || !isSameRecord(before, after)) changes.push({ key, before, after })
          if (entry.touches === touches) pending.delete(text)
          else entry.before = after
        }
        for (const { entry, generation } of round) generations.settle(entry.slot, generation)
        if (changes.length > 0) deliver({ number: generations.publish(), changes })
      }
    } catch (error) {
      // The drive has failed or is being closed: threads no longer trust their caches, which is slow but correct.
      if (isOpen) log.warn({ err: error }, 'changes of documents are not published yet')
    } finally {
      isSettling = false
    }
  }

  return {
    derive(key, before, after, emit) {
      const place = parseDocumentKey(key)
      if (place === undefined) return
      const documents = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
      const sealed = (isSealed(after) ? 1 : 0) - (isSealed(before) ? 1 : 0)
      if (documents !== 0 || sealed !== 0) emit.add(countKey(place.collection), [documents, sealed])
      if (isOpen && !isSameBytes(before, after)) touch(key, before)
    },
    open() {
      isOpen = true
    },
    close() {
      isOpen = false
    },
    retry() {
      if (isSettling || pending.size === 0) return
      isSettling = true
      void settle()
    },
  }
}

function isSealed(record: Uint8Array | undefined): boolean {
  return record !== undefined && isSealedRecord(record)
}

/** Storage may write a record again when it moves it, which is no change of the document. */
function isSameBytes(before: Uint8Array | undefined, after: Uint8Array | undefined): boolean {
  if (before === undefined || after === undefined) return before === after
  return asBuffer(before).equals(asBuffer(after))
}

function isSameRecord(before: Buffer | undefined, after: Buffer | undefined): boolean {
  if (before === undefined || after === undefined) return before === after
  return sequenceOf(before) === sequenceOf(after) && before.equals(after)
}
