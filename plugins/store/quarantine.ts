/**
 * Which documents cannot be read, in the main thread: each is logged once, counted, and forgotten when it is replaced or gone.
 * Nothing here touches what is stored.
 */
import type { Logger } from 'svc/kernel'
import type { QuarantinedDocument } from './api.ts'

const listedMax = 1000
/** Beyond it documents are no longer told apart: each report would be logged and counted again. */
const rememberedMax = 100_000

export interface Quarantine {
  add(document: QuarantinedDocument): void
  /** To be called when a document has been replaced or deleted. */
  remove(collection: string, id: string): void
  list(): { readonly documents: readonly QuarantinedDocument[]; readonly counts: Readonly<Record<string, number>> }
}

export function createQuarantine(log: Logger): Quarantine {
  const known = new Map<string, QuarantinedDocument>()
  const keyOf = (collection: string, id: string): string => `${collection}\0${id}`
  return {
    add(document) {
      const key = keyOf(document.collection, document.id)
      if (known.get(key)?.reason === document.reason || known.size >= rememberedMax) return
      known.set(key, document)
      log.error({ ...document }, 'a document cannot be read: it is kept as it is, and treated as if it were not there')
    },
    remove(collection, id) {
      known.delete(keyOf(collection, id))
    },
    list() {
      const counts: Record<string, number> = {}
      for (const { collection } of known.values()) counts[collection] = (counts[collection] ?? 0) + 1
      return { documents: [...known.values()].slice(0, listedMax), counts }
    },
  }
}
