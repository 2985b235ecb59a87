/**
 * Records in the store which key servers have wrapped data keys of stored objects. If one of them is no longer configured, the next
 * start reports it, before a read of an object fails. master-key-versions.ts does the same for the built-in keys.
 */
import type { Logger } from 'svc/kernel'
import type { Collection } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { ActiveBackend } from './service.ts'

/** By the name of the backend. */
export const UsedBackend = Type.Object({ isInUse: Type.Boolean() }, { additionalProperties: false })

export interface BackendsInUseOptions {
  readonly used: Collection<Static<typeof UsedBackend>>
  active(): readonly ActiveBackend[]
  readonly log: Logger
}

export interface BackendsInUse {
  /** Records the backend that wraps. In the main thread. Logs a failure and resolves, because unencrypted objects can be served. */
  start(): Promise<void>
  /** Marks all backends but the one that wraps now as no longer in use. */
  onResealed(): Promise<void>
  /** Which backend is missing and what to do, without secrets; undefined if none is. */
  problem(): Promise<string | undefined>
}

export function createBackendsInUse({ used, active, log }: BackendsInUseOptions): BackendsInUse {
  const primaryKeyServer = () => active().find(({ unwrapsOnly, kind }) => !unwrapsOnly && kind === 'remote')?.name
  return {
    async start() {
      const name = primaryKeyServer()
      if (name === undefined) return
      try {
        if (!(await used.get(name))?.value.isInUse) await used.put(name, { isInUse: true })
      } catch (error) {
        log.warn({ err: error }, 'the key server in use could not be recorded')
      }
    },
    async onResealed() {
      const { documents } = await used.list()
      for (const { id, value } of documents) {
        if (id !== primaryKeyServer() && value.isInUse) await used.put(id, { isInUse: false })
      }
    },
    async problem() {
      const { documents } = await used.list()
      const missing = documents
        .filter(({ id, value }) => value.isInUse && !active().some(({ name }) => name === id))
        .map(({ id }) => `"${id}"`)
      return missing.length === 0
        ? undefined
        : `data keys of objects may still be wrapped by the key server ${missing.join(', ')}, which is not configured: configure it again`
    },
  }
}
