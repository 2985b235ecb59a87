/** DNS providers in the archive of the cluster, with their credentials, which are sealed there. */
import { type Clock, isCatalogError } from 'svc/kernel'
import type { ArchivePart } from 'svc/plugins/cluster-archive/api'
import { everyDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { type DnsDocuments, ProviderDocument } from './documents.ts'
import { completeSettings, type Fields, type Kinds } from './kinds.ts'

const Archived = Type.Omit(ProviderDocument, ['createdMs'], { additionalProperties: false })
type Archived = Static<typeof Archived>

export interface ArchivePartOptions {
  readonly documents: DnsDocuments
  readonly kinds: () => Kinds
  readonly clock: Clock
}

export function createArchivePart(options: ArchivePartOptions): ArchivePart<Archived> {
  const { kinds, clock } = options
  const { providers } = options.documents

  function problem({ type, settings, credentials }: Archived): string | undefined {
    try {
      completeSettings(kinds().require(type), settings as Fields, credentials)
      return undefined
    } catch (error) {
      if (!isCatalogError(error)) throw error
      return error.message
    }
  }

  return {
    schema: Archived,

    async read() {
      const found = new Map<string, Archived>()
      for (const { id, value } of await everyDocument(providers)) {
        const { createdMs: _, ...archived } = value
        found.set(id, archived)
      }
      return found
    },

    problems: changed =>
      [...changed].flatMap(([element, value]) => {
        const message = problem(value)
        return message === undefined ? [] : [{ element, message }]
      }),

    async apply(changed, mayGoOn) {
      for (const [name, value] of changed) {
        await mayGoOn()
        await providers.update(name, current => ({ ...value, createdMs: current?.value.createdMs ?? clock.now() }))
      }
    },

    async remove(names, mayGoOn) {
      for (const name of names) {
        await mayGoOn()
        await providers.delete(name, { overwriteUnreadable: true })
      }
    },
  }
}
