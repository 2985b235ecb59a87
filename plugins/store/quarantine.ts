/**
 * The list of documents that cannot be read, in the main thread. Each is logged once and counted, until it is replaced or deleted. Stored
 * records are not changed.
 */
import type { Logger } from 'svc/kernel'
import type { QuarantinedDocument } from './api.ts'

const listedMax = 1000
/** Above it documents are no longer remembered: each report would be logged and counted again. */
const rememberedMax = 100_000

export interface Quarantine {
  add(document: QuarantinedDocument): void
  /** To be called when a document was replaced or deleted. */
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
      log.error({ ...document }, 'a document cannot be read: it is kept as it is, and treated as missing')
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
