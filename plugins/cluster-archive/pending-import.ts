/**
 * The archive of an import whose changes have begun, kept until it is complete: after a crash, the next start continues it.
 * It lies in pieces, because a document is small; the head is written last and deleted first.
 */
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const pieceBytes = 512 * 1024
/** So that a transaction stays below the limit of the store. */
const piecesPerCommit = 16

export const importModes = ['merge', 'replace'] as const
export type ImportMode = (typeof importModes)[number]

const Head = Type.Object({
  id: Type.String(),
  mode: Type.Enum([...importModes]),
  pieces: Type.Integer(),
  startedMs: Type.Integer(),
  startedBy: Type.String(),
  /** Base64. Opens the archive where the root credentials have changed since. Absent: an older release began the import. */
  secret: Type.Optional(Type.String({ secret: true })),
})
const Piece = Type.Object({ base64: Type.String() })

export type PendingHead = Static<typeof Head>

export interface PendingImport {
  head(): Promise<PendingHead | undefined>
  /** Replaces one that could not be completed. */
  begin(bytes: Buffer, head: Omit<PendingHead, 'pieces'>): Promise<void>
  bytes(head: PendingHead): Promise<Buffer>
  end(): Promise<void>
}

const only = 'current'

/** Declares collections: during set-up, in every thread. */
export function createPendingImport(store: StoreService): PendingImport {
  const heads: Collection<PendingHead> = store.collection({
    name: 'cluster-import',
    version: 1,
    archiveNote: 'not in it: the import that runs',
    schema: Head,
  })
  const pieces = store.collection({
    name: 'cluster-import-piece',
    version: 1,
    archiveNote: 'not in it: the import that runs',
    schema: Piece,
  })
  const idOf = (id: string, piece: number) => `${id}/${`${piece}`.padStart(6, '0')}`

  const removePieces = async () => {
    for (;;) {
      const { documents } = await pieces.list({ limit: 500 })
      if (documents.length === 0) return
      await store.transaction(tx => {
        for (const { id } of documents) tx.delete(pieces, id, { overwriteUnreadable: true })
      })
    }
  }

  const end = async () => {
    await heads.delete(only, { overwriteUnreadable: true })
    await removePieces()
  }

  return {
    head: async () => (await heads.get(only))?.value,
    async begin(bytes, head) {
      await end()
      const count = Math.ceil(bytes.length / pieceBytes)
      for (let from = 0; from < count; from += piecesPerCommit) {
        await store.transaction(tx => {
          for (let piece = from; piece < Math.min(from + piecesPerCommit, count); piece++) {
            const base64 = bytes.subarray(piece * pieceBytes, (piece + 1) * pieceBytes).toString('base64')
            tx.put(pieces, idOf(head.id, piece), { base64 })
          }
        })
      }
      await heads.put(only, { ...head, pieces: count })
    },
    async bytes({ id, pieces: count }) {
      const found: Buffer[] = []
      for (let piece = 0; piece < count; piece++) {
        const document = await pieces.get(idOf(id, piece))
        if (document === undefined) throw new Error(`the piece ${piece} of the archive that is imported is missing`)
        found.push(Buffer.from(document.value.base64, 'base64'))
      }
      return Buffer.concat(found)
    },
    end,
  }
}
