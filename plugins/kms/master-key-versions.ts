/**
 * Records in the store which master keys of the built-in backend have wrapped data keys of stored objects. If one was removed from the
 * configuration too early, the next start reports it, before a read of an object fails. A master key counts as in use from the first start
 * with it until a reseal of all buckets has succeeded without it being the current one.
 */
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import type { Collection } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { type CreatedKey, masterKeyVersion } from './built-in-keys.ts'

export const MasterKeyVersion = Type.Object(
  { name: Type.String(), isInUse: Type.Boolean() },
  { additionalProperties: false },
)

export interface MasterKeyVersionsOptions {
  readonly versions: Collection<Static<typeof MasterKeyVersion>>
  /** As configured. The first one wraps, if `hasCurrent`. */
  readonly masterKeys: readonly string[]
  /** Whether the first master key is the current one; if not, all are former ones. */
  readonly hasCurrent: boolean
  readonly created: Collection<Static<typeof CreatedKey>>
  readonly clock: Clock
  readonly log: Logger
}

export interface MasterKeyVersions {
  /** How many master keys are configured that are not the current one. */
  readonly formerKeys: number
  /**
   * Records the configured master keys, and creates a key id for the name of each former one, because objects and buckets refer to it. In
   * the main thread. Logs a failure and resolves, because unencrypted objects can be served.
   */
  start(): Promise<void>
  /** Whether a master key, present or former, has this name. */
  hasName(name: string): MaybePromise<boolean>
  /** Marks all master keys but the current one as no longer in use. */
  onResealed(): Promise<void>
  /** Which master key is missing and what to do, without secrets; undefined if none is. */
  problem(): Promise<string | undefined>
}

const listedMax = 1000

export function createMasterKeyVersions(options: MasterKeyVersionsOptions): MasterKeyVersions {
  const { versions, created, clock, log } = options
  const configured = options.masterKeys.map(masterKeyVersion)
  /** Cached, since names are added only at a start. */
  let names: ReadonlySet<string> | undefined
  const current = options.hasCurrent ? configured[0]!.id : undefined

  const problem = async () => {
    const { documents } = await versions.list({ limit: listedMax })
    const missing = documents
      .filter(({ id, value }) => value.isInUse && !configured.some(key => key.id === id))
      .map(({ id, value }) => `"${value.name}" (version ${id})`)
    return missing.length === 0
      ? undefined
      : `data keys of objects may still be wrapped under the former master key ${missing.join(', ')}, which is missing: add it to ` +
          'SVC_KMS_SECRET_KEY_PREVIOUS until "Reseal" of the console (Encryption keys), or "svcctl admin kms reseal ALIAS", has ended without ' +
          'failures'
  }

  const write = async (): Promise<void> => {
    const { documents } = await versions.list({ limit: listedMax })
    const known = new Map(documents.map(({ id, value }) => [id, value]))
    for (const { id, name } of configured) {
      const isKnown = known.has(id) && (id !== current || known.get(id)!.isInUse)
      if (!isKnown) await versions.put(id, { name, isInUse: true })
    }
    const currentName = options.hasCurrent ? configured[0]!.name : undefined
    for (const name of new Set([...documents.map(({ value }) => value.name), ...configured.map(key => key.name)])) {
      if (name === currentName || (await created.get(name)) !== undefined) continue
      await created.put(name, { createdMs: clock.now() })
    }
  }

  const readNames = async (): Promise<ReadonlySet<string>> => {
    const { documents } = await versions.list({ limit: listedMax })
    names = new Set([...documents.map(({ value }) => value.name), ...configured.map(key => key.name)])
    return names
  }

  return {
    formerKeys: new Set(configured.map(({ id }) => id).filter(id => id !== current)).size,
    problem,
    hasName: name => (names === undefined ? readNames().then(read => read.has(name)) : names.has(name)),
    async start() {
      try {
        await write()
      } catch (error) {
        log.warn({ err: error }, 'the master keys in use could not be recorded')
      }
    },
    async onResealed() {
      const { documents } = await versions.list({ limit: listedMax })
      for (const { id, value } of documents) {
        if (id !== current && value.isInUse) await versions.put(id, { ...value, isInUse: false })
      }
    },
  }
}
