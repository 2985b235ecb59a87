/** What one thread remembers of one collection: documents by bytes, and ids without a document by number. */
import { LRUCache } from 'lru-cache'
import type { Decoded } from './codec.ts'

/** Ids without a document, or with one that cannot be read. Others than documents, so that guessing ids pushes no document out. */
const absentMax = 4096
/** A parsed document takes about so much more than its record. */
const memoryFactor = 4
const entryOverheadBytes = 512

export interface Entry extends Decoded {
  readonly slot: number
  /** What the slot's counter was: see generations.ts. */
  generation: number
  /** By number of the compiled form; filled as they are asked for. */
  compiled: unknown[] | undefined
}

export interface DocumentCache {
  get(id: string): Entry | undefined
  /** The same, without making it younger. */
  peek(id: string): Entry | undefined
  /** `sizeBytes`: of the record. */
  set(id: string, entry: Entry, sizeBytes: number): void
  delete(id: string): void
  /** Ids of everything that is remembered now. */
  ids(): string[]
  readonly sizeBytes: number
}

/** `bytesMax` bounds the documents; 0 remembers none. */
export function createDocumentCache(bytesMax: number): DocumentCache {
  const absent = new LRUCache<string, Entry>({ max: absentMax })
  const documents = bytesMax === 0 ? undefined : new LRUCache<string, Entry>({ maxSize: bytesMax })
  const forget = (id: string): void => {
    documents?.delete(id)
    absent.delete(id)
  }
  return {
    get: id => documents?.get(id) ?? absent.get(id),
    peek: id => documents?.peek(id) ?? absent.peek(id),
    set(id, entry, sizeBytes) {
      forget(id)
      if (entry.document === undefined) absent.set(id, entry)
      else documents?.set(id, entry, { size: sizeBytes * memoryFactor + entryOverheadBytes })
    },
    delete: forget,
    ids: () => [...(documents?.keys() ?? []), ...absent.keys()],
    get sizeBytes() {
      return documents?.calculatedSize ?? 0
    },
  }
}
