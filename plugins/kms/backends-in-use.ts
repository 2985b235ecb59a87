/**
 * Which key servers what is stored may still be sealed by, in the store: so that one which is not configured any more is missed at the
 * next start, and not only when somebody reads an object. Of the built-in keys that is known by their master keys.
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
  /** Writes down who seals. In the main thread. Never fails: what is not sealed is served all the same. */
  start(): Promise<void>
  /** Nothing is sealed by another one than the one that seals now any more. */
  onResealed(): Promise<void>
  /** What is missing and what to do, in a sentence without secrets. */
  problem(): Promise<string | undefined>
}

export function createBackendsInUse({ used, active, log }: BackendsInUseOptions): BackendsInUse {
  const sealing = () => active().find(({ opensOnly, kind }) => !opensOnly && kind === 'remote')?.name
  return {
    async start() {
      const name = sealing()
      if (name === undefined) return
      try {
        if (!(await used.get(name))?.value.isInUse) await used.put(name, { isInUse: true })
      } catch (error) {
        log.warn({ err: error }, 'the key server in use could not be written down')
      }
    },
    async onResealed() {
      const { documents } = await used.list()
      for (const { id, value } of documents) {
        if (id !== sealing() && value.isInUse) await used.put(id, { isInUse: false })
      }
    },
    async problem() {
      const { documents } = await used.list()
      const missing = documents
        .filter(({ id, value }) => value.isInUse && !active().some(({ name }) => name === id))
        .map(({ id }) => `"${id}"`)
      return missing.length === 0
        ? undefined
        : `objects may still be sealed by the key server ${missing.join(', ')}, which is not configured: configure it again`
    },
  }
}
