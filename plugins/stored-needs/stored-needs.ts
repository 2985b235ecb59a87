/**
 * Records which plugins stored data needs, and refuses to start without them.
 *
 * Invariants:
 *
 * 1. Before requests are served, the document names the needs of every loaded plugin. Only a loaded plugin stores data with its sign, so
 *    no crash can leave data whose need the document does not name.
 * 2. Each start without a plugin searches the data itself for its signs. So nothing has to be maintained while requests are served, and
 *    data that another release has stored or removed is taken into account.
 * 3. A start that is refused writes nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Findings, isCatalogError, type KernelService, type Logger, type Point } from 'svc/kernel'
import type { StorageService } from 'svc/plugins/storage/api'
import type { StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { MissingPlugin, StoredNeed } from './api.ts'
import { storedNeedErrors } from './errors.ts'
import type { Scan } from './evidence.ts'
import { firstNeeds } from './first-needs.ts'
import { describeIgnored, describeRefusal, type Finding, findMissingPlugins } from './missing-plugins.ts'
import { mergeNeeds, NamedNeed, namedNeeds } from './named-need.ts'

const StoredNeeds = Type.Object(
  {
    needs: Type.Array(NamedNeed),
    /** See `Question.foundNone`. */
    foundNone: Type.Array(Type.String()),
  },
  { additionalProperties: false },
)
type StoredNeeds = Static<typeof StoredNeeds>

const documentId = 'needs'

export interface StoredNeedsOptions {
  readonly store: StoreService
  readonly storage: Pick<StorageService, 'scan' | 'peekScan'>
  readonly kernel: Pick<KernelService, 'plugins' | 'announce'>
  readonly contributions: Point<StoredNeed>
  /** Names of plugins. */
  readonly ignore: readonly string[]
  readonly log: Logger
}

export interface StoredNeedsCheck {
  /** Main thread. Throws `required_plugin_missing`. Resolves with the missing plugins that are ignored. */
  start(): Promise<readonly MissingPlugin[]>
  /** For a dry run. */
  inspect(): Promise<Findings>
  /** Background worker: writes the document if `start` could not. */
  writeLate(): Promise<'done'>
}

/** Declares a collection: during set-up. */
export function createStoredNeeds(options: StoredNeedsOptions): StoredNeedsCheck {
  const { store, storage, kernel, contributions, log } = options
  const documents = store.collection({
    name: 'stored-needs',
    version: 1,
    archiveNote: 'not in it: follows from the other documents',
    schema: StoredNeeds,
  })
  const ignored = new Set(options.ignore)
  let unwritten: StoredNeeds | undefined

  const loadedPlugins = () => new Set(kernel.plugins().map(({ name }) => name))

  /** Later lists win over the stored document: a later release may have renamed a plugin. */
  const needsOf = (stored: StoredNeeds | undefined): NamedNeed[] =>
    mergeNeeds(stored?.needs ?? [], firstNeeds, namedNeeds(contributions.list()))

  const find = (stored: StoredNeeds | undefined, scan: Scan): Promise<Finding> =>
    findMissingPlugins({
      needs: needsOf(stored),
      loaded: loadedPlugins(),
      foundNone: stored?.foundNone ?? [],
      scan,
      onLongSearch: ({ plugin, has }) =>
        log.info(
          { missing: plugin },
          `the plugin "${plugin}" is not loaded: reading the records of all objects, once, to find out whether a bucket has ${has}`,
        ),
    })

  const write = async (value: StoredNeeds): Promise<void> => {
    await documents.put(documentId, value)
  }

  const tellIgnored = (missing: readonly MissingPlugin[]): void => {
    for (const plugin of missing) log.error({ missing: plugin.name }, describeIgnored(plugin))
    const loaded = loadedPlugins()
    for (const name of ignored) {
      if (missing.some(plugin => plugin.name === name)) continue
      const why = loaded.has(name) ? 'which is loaded' : 'which stored data does not need'
      log.warn(
        `SVC_IGNORE_MISSING_PLUGINS names "${name}", ${why}: remove the name, or a later need is ignored as well`,
      )
    }
    if (missing.length > 0) kernel.announce('startedWithout', missing.map(({ name }) => name).join(', '))
  }

  return {
    async start() {
      const stored = (await documents.get(documentId))?.value
      const problem = await documents.problem(documentId)
      const { missing, foundNone } = await find(stored, (start, end, visit) => storage.scan(start, end, visit))
      const refusing = missing.filter(({ name }) => !ignored.has(name))
      if (refusing.length > 0) throw storedNeedErrors.required_plugin_missing(refusing.map(describeRefusal).join(' '))
      tellIgnored(missing)
      if (problem !== undefined) {
        log.error(
          { problem },
          'the document of needed plugins cannot be read: only missing plugins of this release are noticed',
        )
        return missing
      }
      const value = { needs: needsOf(stored), foundNone: [...foundNone] }
      if (isDeepStrictEqual(stored, value)) return missing
      try {
        await write(value)
      } catch (error) {
        // A full drive, or a read-only set, must start nevertheless, so that it can be repaired.
        if (!isCatalogError(error)) throw error
        unwritten = value
        log.error({ err: error }, 'the document of needed plugins could not be written; trying again')
      }
      return missing
    },

    async inspect() {
      let finding: Finding
      try {
        const scan: Scan = (start, end, visit) => storage.peekScan(start, end, visit)
        finding = await find(await documents.peek(documentId), scan)
      } catch (error) {
        return { notLookedAt: [`whether a plugin is missing that stored data needs: ${(error as Error).message}`] }
      }
      const { missing } = finding
      return {
        problems: missing.filter(({ name }) => !ignored.has(name)).map(describeRefusal),
        plan: missing.filter(({ name }) => ignored.has(name)).map(describeIgnored),
      }
    },

    async writeLate() {
      if (unwritten !== undefined) await write(unwritten)
      unwritten = undefined
      return 'done'
    },
  }
}
