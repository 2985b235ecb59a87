/** One thread's cache of one collection: documents, bounded by bytes, and ids without a readable document, bounded by number. */
import { LRUCache } from 'lru-cache'
import type { Decoded } from './codec.ts'

/** Ids without a readable document. Counted separately from documents, so that requests for random ids evict no document. */
const absentMax = 4096
/** Number of the cached documents that count as recently read. */
const recentMax = 32
/** Approximate memory of a parsed document, as a multiple of its record's size. */
const memoryFactor = 4
const entryOverheadBytes = 512

export interface Entry extends Decoded {
  readonly slot: number
  /** The slot's counter when the record was read: see generations.ts. */
  generation: number
  /** Memory of its compiled values, as far as whoever compiles them says it. */
  compiledBytes: number
  /** By number of the compiled form; filled on demand. */
  compiled: unknown[] | undefined
}

export interface DocumentCache {
  get(id: string): Entry | undefined
  /** Like `get`, without changing the order of eviction. */
  peek(id: string): Entry | undefined
  /** `sizeBytes`: of the record. */
  set(id: string, entry: Entry, sizeBytes: number): void
  /** The entry holds so many bytes more, of what was made of its document. Does nothing if it is not cached any more. */
  grow(id: string, entry: Entry, bytes: number): void
  delete(id: string): void
  /** Ids of all entries. */
  ids(): string[]
  readonly sizeBytes: number
}

/** `bytesMax` bounds the documents; 0 caches none. */
export function createDocumentCache(bytesMax: number): DocumentCache {
  // Requests ask for the same few documents again and again: here they are found without a change of the order of eviction.
  const recent = new Map<string, Entry>()
  const dispose = (_entry: Entry, id: string): void => void recent.delete(id)
  // Made for the first of them: its arrays take 90 KB at once, and most collections never need them.
  let absent: LRUCache<string, Entry> | undefined
  const documents = bytesMax === 0 ? undefined : new LRUCache<string, Entry>({ maxSize: bytesMax, dispose })
  const forget = (id: string): void => {
    documents?.delete(id)
    absent?.delete(id)
  }
  return {
    get(id) {
      const again = recent.get(id)
      if (again !== undefined) return again
      const found = documents?.get(id) ?? absent?.get(id)
      if (found !== undefined) {
        if (recent.size === recentMax) recent.clear()
        recent.set(id, found)
      }
      return found
    },
    peek: id => documents?.peek(id) ?? absent?.peek(id),
    set(id, entry, sizeBytes) {
      forget(id)
      if (entry.document === undefined) {
        absent ??= new LRUCache({ max: absentMax, dispose })
        absent.set(id, entry)
      } else {
        const plain = sizeBytes * memoryFactor + entryOverheadBytes
        documents?.set(id, entry, {
          size: entry.compiledBytes === 0 ? plain : Math.min(plain + entry.compiledBytes, bytesMax),
        })
      }
    },
    grow(id, entry, bytes) {
      entry.compiledBytes += bytes
      if (documents?.peek(id) !== entry) return
      const size = documents.info(id)!.size!
      // The size of the same value would stay as it is.
      documents.delete(id)
      // One document always has room: else it would be compiled for each request.
      documents.set(id, entry, { size: Math.min(size + bytes, bytesMax) })
    },
    delete: forget,
    ids: () => [...(documents?.keys() ?? []), ...(absent?.keys() ?? [])],
    get sizeBytes() {
      return documents?.calculatedSize ?? 0
    },
  }
}
