/**
 * Which master keys what is stored may still be sealed under, in the store: so that one which was taken away before everything was sealed
 * anew is missed at the next start, and not only when somebody reads an object. A version is written down at the first start with it, and
 * done with when a reseal of everything has gone through.
 */
import type { Logger } from 'svc/kernel'
import type { Collection } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { masterKeyVersion } from './built-in-keys.ts'

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
  readonly log: Logger
}

export interface MasterKeyVersions {
  /** Writes down what is configured, and says in the log what is missing. Never fails: what is not sealed is served all the same. */
  start(): Promise<void>
  /** Nothing is sealed under other keys than the present one any more. */
  onResealed(): Promise<void>
  /** What is missing and what to do, in a sentence without secrets. */
  problem(): Promise<string | undefined>
}

const listedMax = 1000

export function createMasterKeyVersions(options: MasterKeyVersionsOptions): MasterKeyVersions {
  const { versions, log } = options
  const configured = options.masterKeys.map(masterKeyVersion)
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
  }

  return {
    problem,
    async start() {
      try {
        await write()
        const missing = await problem()
        if (missing !== undefined) log.error(missing)
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
