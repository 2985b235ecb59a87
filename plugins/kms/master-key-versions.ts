/**
 * Which master keys what is stored may still be sealed under, in the store: so that one which was taken away before everything was sealed
 * anew is missed at the next start, and not only when somebody reads an object. A version is written down at the first start with it, and
 * done with when a reseal of everything has gone through.
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
  /** As configured; the first one seals. */
  readonly masterKeys: readonly string[]
  /** The first of them is there and not only a former one. */
  readonly hasCurrent: boolean
  readonly created: Collection<Static<typeof CreatedKey>>
  readonly clock: Clock
  readonly log: Logger
}

export interface MasterKeyVersions {
  /**
   * Writes down what is configured. The name of a former one stays a key like any other: objects and buckets have it. In the main thread.
   * Never fails: what is not sealed is served all the same.
   */
  start(): Promise<void>
  /** Whether a master key, present or former, has this name. */
  hasName(name: string): MaybePromise<boolean>
  /** Nothing is sealed under other keys than the present one any more. */
  onResealed(): Promise<void>
  /** What is missing and what to do, in a sentence without secrets. */
  problem(): Promise<string | undefined>
}

const listedMax = 1000

export function createMasterKeyVersions(options: MasterKeyVersionsOptions): MasterKeyVersions {
  const { versions, created, clock, log } = options
  const configured = options.masterKeys.map(masterKeyVersion)
  /** They only become more from one start to the next. */
  let names: ReadonlySet<string> | undefined
  const current = options.hasCurrent ? configured[0]!.id : undefined

  const problem = async () => {
    const { documents } = await versions.list({ limit: listedMax })
    const missing = documents
      .filter(({ id, value }) => value.isInUse && !configured.some(key => key.id === id))
      .map(({ id, value }) => `"${value.name}" (version ${id})`)
    return missing.length === 0
      ? undefined
      : `objects may still be sealed under the former master key ${missing.join(', ')}, which is missing: give it in ` +
          'SVC_KMS_SECRET_KEY_PREVIOUS until "svcctl admin kms reseal ALIAS" has ended without failures'
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
    problem,
    hasName: name => (names === undefined ? readNames().then(read => read.has(name)) : names.has(name)),
    async start() {
      try {
        await write()
      } catch (error) {
        log.warn({ err: error }, 'the master keys in use could not be written down')
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
