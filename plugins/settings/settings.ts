/** The service for plugins: declares, reads and watches settings. */
import type { Logger, MaybePromise, ObjectOf } from 'svc/kernel'
import type { StoreService } from 'svc/plugins/store/api'
import type { TObject } from 'typebox'
import { createAdministration } from './administration.ts'
import {
  defaultSubsystemId,
  type Settings,
  type SettingsService,
  type SubsystemDeclaration,
  type TargetValues,
} from './api.ts'
import { allDocuments, declareDocuments, parseSubsystemName, type SettingsDocument, textsOf } from './documents.ts'
import { createSubsystem, readValues, type Subsystem, type Values } from './subsystem.ts'
import { targetDeclaration } from './target.ts'

export interface CreatedSettings {
  readonly service: SettingsService
  start(): void
  stop(): void
}

export function createSettings({
  store,
  log,
}: {
  readonly store: StoreService
  readonly log: Logger
}): CreatedSettings {
  const subsystems = new Map<string, Subsystem>()
  const documents = declareDocuments(store)
  const read = ({ id, value }: SettingsDocument): Values => {
    const subsystem = subsystems.get(parseSubsystemName(id)!.name)!
    const { values, unreadable } = readValues(subsystem, textsOf(value))
    if (unreadable.length > 0) log.warn({ subsystem: id, keys: unreadable }, 'stored settings cannot be read')
    return values
  }
  // Called for declared subsystems only.
  const ready = documents.compiled(read)
  /** Sequences of the documents that listeners were last called for, by id. */
  const told = new Map<string, number>()
  let endWatch: (() => void) | undefined

  const tell = (documentId: string) => {
    const named = parseSubsystemName(documentId)
    const subsystem = named === undefined ? undefined : subsystems.get(named.name)
    if (subsystem === undefined) return
    for (const listener of subsystem.listeners) {
      try {
        listener(named!.id ?? defaultSubsystemId)
      } catch (error) {
        // The other listeners must be called, too.
        log.error({ err: error, subsystem: documentId }, 'a listener to settings failed')
      }
    }
  }

  const resync = async () => {
    const stored = await allDocuments(documents)
    const gone = new Set(told.keys())
    for (const { id, sequence } of stored) {
      gone.delete(id)
      if (told.get(id) === sequence) continue
      told.set(id, sequence)
      tell(id)
    }
    for (const id of gone) {
      told.delete(id)
      tell(id)
    }
  }

  const handleOf = (subsystem: Subsystem): Settings<Values> => {
    const { name, isMultiple, defaults, listeners } = subsystem
    const documentId = (id: string) => (isMultiple ? `${name}:${id}` : name)
    const orDefaults = (values: Values | undefined) => values ?? defaults
    return {
      get(id = defaultSubsystemId) {
        const values = ready.get(documentId(id))
        return values instanceof Promise ? values.then(orDefaults) : (values ?? defaults)
      },
      list() {
        return mapList(documents.list({ prefix: isMultiple ? `${name}:` : name }), found =>
          found.documents
            .filter(({ id }) => isMultiple || id === name)
            .map(document => ({
              id: parseSubsystemName(document.id)!.id ?? defaultSubsystemId,
              values: read(document),
            })),
        )
      },
      problem: (id = defaultSubsystemId) => documents.problem(documentId(id)),
      watch(listener) {
        listeners.add(listener)
        return () => {
          listeners.delete(listener)
        }
      },
    }
  }

  const declare = <Schema extends TObject>(name: string, declaration: SubsystemDeclaration<Schema>) => {
    if (subsystems.has(name)) throw new TypeError(`settings: the subsystem ${name} is declared twice`)
    const subsystem = createSubsystem(name, declaration as unknown as SubsystemDeclaration<TObject>)
    subsystems.set(name, subsystem)
    return handleOf(subsystem) as unknown as Settings<ObjectOf<Schema>>
  }

  return {
    service: {
      declare,
      declareTarget: (name, declaration) =>
        declare(name, targetDeclaration(name, declaration)) as unknown as Settings<TargetValues>,
      administration: createAdministration({ subsystems, documents, store }),
    },
    start() {
      endWatch = documents.watch(
        ({ id, after }) => {
          if (after === undefined) told.delete(id)
          else told.set(id, after.sequence)
          tell(id)
        },
        () => {
          resync().catch(error => log.warn({ err: error }, 'settings could not be read again'))
        },
      )
    },
    stop() {
      endWatch?.()
      endWatch = undefined
    },
  }
}

function mapList<A, B>(value: MaybePromise<A>, map: (value: A) => B): MaybePromise<B> {
  return value instanceof Promise ? value.then(map) : map(value)
}
