/** Key groups in the archive of the cluster: their public keys. Private keys never leave the deployment that has them. */
import { type Clock, isCatalogError } from 'svc/kernel'
import type { ArchivePart, PartProblem } from 'svc/plugins/cluster-archive/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import { everyDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { type KeyGroupDocuments, PublicKeyDocument } from './documents.ts'
import { keysMax, requireGroupId } from './key-inputs.ts'
import { readPublicKey } from './public-keys.ts'

const Archived = Type.Object(
  { comment: Type.String(), keys: Type.Array(PublicKeyDocument, { maxItems: keysMax }) },
  { additionalProperties: false },
)
type Archived = Static<typeof Archived>

export interface ArchivePartOptions {
  readonly documents: KeyGroupDocuments
  readonly clock: Clock
}

export function createArchivePart({ documents: { groups }, clock }: ArchivePartOptions): ArchivePart<Archived> {
  return {
    schema: Archived,

    async read() {
      const found = new Map<string, Archived>()
      for (const { id, value } of await everyDocument(groups)) {
        const keys = value.keys.map(({ privateKey: _, createdMs: _created, addedBy: _user, ...key }) => key)
        found.set(id, { comment: value.comment, keys })
      }
      return found
    },

    problems: changed => [...changed].flatMap(([id, group]) => problemsOf(id, group)),

    async apply(changed, mayGoOn) {
      for (const [id, { comment, keys }] of changed) {
        await mayGoOn()
        const nowMs = clock.now()
        await groups.update(id, current => {
          const own = new Map(current?.value.keys.map(key => [key.id, key]))
          const kept = keys.map(key => {
            const { privateKey, addedBy, createdMs = nowMs } = own.get(key.id) ?? {}
            return {
              ...key,
              createdMs,
              ...(privateKey !== undefined && { privateKey }),
              ...(addedBy !== undefined && { addedBy }),
            }
          })
          return { createdMs: nowMs, ...current?.value, comment, keys: kept }
        })
      }
    },

    async remove(ids, mayGoOn) {
      for (const id of ids) {
        await mayGoOn()
        await groups.delete(id, { overwriteUnreadable: true })
      }
    },
  }
}

function problemsOf(id: string, { keys }: Archived): PartProblem[] {
  try {
    requireGroupId(id)
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return [{ element: id, message: error.message }]
  }
  return keys.flatMap((key, index) => {
    const read = readPublicKey(key.publicKey)
    const element = `${id}/keys/${index}`
    if (typeof read === 'string') return [{ element, message: read }]
    const isSame = canonicalJson([read.id, read.algorithm]) === canonicalJson([key.id, key.algorithm])
    return isSame ? [] : [{ element, message: 'has an id or an algorithm that is not that of its public key' }]
  })
}
