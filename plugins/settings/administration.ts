/** Operations on settings: shows them as text with masked secrets, and changes them completely or not at all. */

import { createHash } from 'node:crypto'
import { isCatalogError } from 'svc/kernel'
import { sentenceEnd } from 'svc/plugins/admin/api'
import type { StoreService } from 'svc/plugins/store/api'
import { defaultSubsystemId, type SettingsAdministration, type SettingsMap, type ShownSubsystem } from './api.ts'
import { changedSettings, type SettingProblem } from './changes.ts'
import { describeSubsystem } from './description.ts'
import {
  allDocuments,
  parseSubsystemName,
  type SettingsDocument,
  type SettingsDocuments,
  type StoredSettings,
  shownName,
  subsystemsMax,
  textsOf,
} from './documents.ts'
import { noSubsystem, settingsErrors } from './errors.ts'
import { holdsSecret, shownText } from './masking.ts'
import { notLoadedWarning } from './not-loaded.ts'
import { reservedNames, type Subsystem } from './subsystem.ts'

/** Attempts of a change of several subsystems, if other changes interfere. */
const attemptsMax = 16
/** Further problems are not reported. */
const problemsMax = 100
const tooMany: SettingProblem = { element: 'configuration', message: `has more than ${subsystemsMax} subsystems` }

export interface AdministrationOptions {
  readonly subsystems: ReadonlyMap<string, Subsystem>
  readonly documents: SettingsDocuments
  readonly store: StoreService
}

/** The document of a name. */
interface Place {
  readonly documentId: string
  readonly id: string
  readonly subsystem: Subsystem | undefined
}

type Stored = ReadonlyMap<string, SettingsDocument>

interface ApplyOptions {
  readonly isDryRun?: boolean
  readonly ifMatch?: string | undefined
}

export function createAdministration({ subsystems, documents, store }: AdministrationOptions): SettingsAdministration {
  const storedByName = async (): Promise<Stored> =>
    new Map((await allDocuments(documents)).map(document => [document.id, document]))

  /** Undefined if it is neither declared nor stored. */
  const placeOf = (text: string, stored: Stored): Place | undefined => {
    const named = parseSubsystemName(text)
    if (named === undefined) return undefined
    const { name, id = defaultSubsystemId } = named
    const subsystem = subsystems.get(name)
    if (subsystem?.isMultiple === true) return { documentId: `${name}:${id}`, id, subsystem }
    if (subsystem !== undefined) return named.id === undefined ? { documentId: name, id, subsystem } : undefined
    const documentId = [text, `${name}:${id}`].find(candidate => stored.has(candidate))
    return documentId === undefined ? undefined : { documentId, id, subsystem }
  }

  const requirePlace = (text: string, stored: Stored): Place => {
    if (reservedNames.has(text)) throw settingsErrors.invalid_argument(`No subsystem can be called ${text}.`)
    const place = placeOf(text, stored)
    if (place === undefined) throw noSubsystem(text)
    return place
  }

  const requireRemovable = async (documentId: string) => {
    const { name, id = defaultSubsystemId } = parseSubsystemName(documentId)!
    const problem = await subsystems.get(name)?.declaration.removalProblem?.(id)
    if (problem !== undefined) throw settingsErrors.conflict(problem)
  }

  const showOne = async (name: string): Promise<ShownSubsystem> => {
    const stored = await storedByName()
    const { documentId, subsystem } = requirePlace(name, stored)
    const document = stored.get(documentId)
    // A single subsystem can always be read, with its defaults; one with an id exists only if it was set.
    const isNamed = subsystem !== undefined && (!subsystem.isMultiple || name === subsystem.name)
    if (document === undefined && !isNamed) throw noSubsystem(name)
    return shown(documentId, subsystem, document?.value)
  }

  const attemptApply = async (map: SettingsMap, mode: 'merge' | 'replace', { isDryRun, ifMatch }: ApplyOptions) => {
    const stored = await storedByName()
    if (ifMatch !== undefined && ifMatch !== etagOf(stored.values())) throw settingsErrors.precondition_failed()
    const problems: SettingProblem[] = []
    const changes: { readonly documentId: string; readonly next: StoredSettings | undefined }[] = []
    const named = new Set<string>()
    // Checked first, because each subsystem costs time in which nothing else runs.
    if (Object.keys(map).length > subsystemsMax) refuse([tooMany])
    for (const [name, settings] of Object.entries(map)) {
      if (problems.length >= problemsMax) break
      const place = reservedNames.has(name) ? undefined : placeOf(name, stored)
      if (place === undefined) {
        problems.push({ element: name, message: 'is no subsystem of a loaded plugin' })
        continue
      }
      const { documentId, id, subsystem } = place
      if (named.has(documentId)) problems.push({ element: name, message: 'is there twice' })
      named.add(documentId)
      const before = stored.get(documentId)?.value
      const next = changedSettings({ name, id, subsystem, stored: before, settings, mode }, problems)
      // What an earlier release left unsealed is sealed with the next change: by itself it is none.
      if (next === undefined || (before !== undefined && sameTexts(textsOf(before), textsOf(next)))) continue
      // A single subsystem needs no document; one with an id exists by its document.
      const isEmpty = Object.keys(textsOf(next)).length === 0
      if (!isEmpty || subsystem?.isMultiple === true) changes.push({ documentId, next })
      else if (before !== undefined) changes.push({ documentId, next: undefined })
    }
    const removed = mode === 'replace' ? [...stored.keys()].filter(id => !named.has(id)) : []
    if (new Set([...stored.keys(), ...named]).size - removed.length > subsystemsMax) {
      problems.push(tooMany)
    }
    refuse(problems)
    for (const documentId of removed) await requireRemovable(documentId)
    const removals = removed.map(documentId => ({ documentId, next: undefined }))
    const differing = ({
      documentId,
      next,
    }: {
      readonly documentId: string
      readonly next: StoredSettings | undefined
    }) => {
      const [before, after] = [stored.get(documentId)?.value, next].map(value => textsOf(value ?? nothing))
      const keys = Object.keys({ ...before, ...after }).filter(key => before?.[key] !== after?.[key])
      return [shownName(documentId), keys] as const
    }
    const result = {
      subsystems: Object.keys(map).length,
      changed: changes.map(differing),
      removed: removals.map(differing),
    }
    const all = [...changes, ...removals]
    if (isDryRun === true || all.length === 0) return result
    await store.transaction(tx => {
      for (const { documentId, next } of all) {
        const before = stored.get(documentId)
        const condition = before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }
        if (next === undefined) tx.delete(documents, documentId, condition)
        else tx.put(documents, documentId, next, condition)
      }
    })
    return result
  }

  const etag = async (name: string) => {
    const { documentId } = requirePlace(name, await storedByName())
    return etagOfOne(await documents.get(documentId))
  }

  const update = async (
    name: string,
    settings: Readonly<Record<string, string | null>>,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ) => {
    const stored = await storedByName()
    const { documentId, id, subsystem } = requirePlace(name, stored)
    if (!stored.has(documentId) && stored.size >= subsystemsMax) {
      throw settingsErrors.conflict(`There are ${subsystemsMax} subsystems already.`)
    }
    const document = await readable(() =>
      documents.update(documentId, current => {
        if (current === undefined && subsystem === undefined) throw noSubsystem(name)
        if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etagOfOne(current)) {
          throw settingsErrors.precondition_failed()
        }
        const problems: SettingProblem[] = []
        const before = current?.value
        const next = changedSettings({ name, id, subsystem, stored: before, settings, mode: 'merge' }, problems)
        refuse(problems)
        return before !== undefined && isSame(before, next!) ? undefined : next
      }),
    )
    const notApplied = Object.keys(settings).filter(key => subsystem?.keys.get(key)?.isApplied === false)
    return { ...shown(documentId, subsystem, document?.value), notApplied }
  }

  const reset = async (name: string, keys: readonly string[] | undefined): Promise<void> => {
    const stored = await storedByName()
    const { documentId, id, subsystem } = requirePlace(name, stored)
    if (keys === undefined) {
      await requireRemovable(documentId)
      const wasThere = await documents.delete(documentId, { overwriteUnreadable: true })
      if (!wasThere && subsystem?.isMultiple !== false) throw noSubsystem(name)
      return
    }
    const settings = Object.fromEntries(keys.map(key => [key, null]))
    await readable(() =>
      documents.update(documentId, current => {
        const before = current?.value
        if (before === undefined && subsystem?.isMultiple !== false) throw noSubsystem(name)
        const problems: SettingProblem[] = []
        const next = changedSettings({ name, id, subsystem, stored: before, settings, mode: 'merge' }, problems)
        refuse(problems)
        return isSame(before ?? nothing, next!) ? undefined : next
      }),
    )
  }

  const applyWithRetries = async (map: SettingsMap, mode: 'merge' | 'replace', options: ApplyOptions) => {
    // There always is a configuration.
    const ifMatch = options.ifMatch === '*' ? undefined : options.ifMatch
    for (let attempts = 0; attempts < attemptsMax; attempts++) {
      try {
        return await readable(() => attemptApply(map, mode, { ...options, ifMatch }))
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
        if (ifMatch !== undefined) throw settingsErrors.precondition_failed(undefined, { cause: error })
      }
    }
    throw settingsErrors.conflict('Others are changing the configuration at the same time. Try again.')
  }
  /** Changes of this thread run one after the other, so that only those of other threads can interfere. */
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const changed = turn.then(change)
    turn = changed.catch(() => {})
    return changed
  }

  const read = async () => {
    const stored = await storedByName()
    const names = new Set(stored.keys())
    for (const { name, isMultiple } of subsystems.values()) if (!isMultiple) names.add(name)
    const all = [...names].sort().map(documentId => {
      const { name } = parseSubsystemName(documentId)!
      return shown(documentId, subsystems.get(name), stored.get(documentId)?.value)
    })
    return { subsystems: all, etag: etagOf(stored.values()) }
  }

  /** What was set; without the values for which `shownAs` has no text. */
  const exported = async (
    shownAs: (
      subsystem: Subsystem | undefined,
      stored: StoredSettings,
    ) => (key: string, text: string) => string | undefined,
  ): Promise<SettingsMap> => {
    const stored = [...(await storedByName()).values()]
    return Object.fromEntries(
      stored.map(({ id, value }) => {
        const textOf = shownAs(subsystems.get(parseSubsystemName(id)!.name), value)
        const texts = Object.entries(textsOf(value)).flatMap(([key, text]): [string, string][] => {
          const shown = textOf(key, text)
          return shown === undefined ? [] : [[key, shown]]
        })
        return [shownName(id), Object.fromEntries(texts)]
      }),
    )
  }

  return {
    show: async () => (await read()).subsystems,
    read,
    showOne,
    etag,
    describe: () => [...subsystems.keys()].sort().map(name => describeSubsystem(subsystems.get(name)!)),
    update: (name, settings, options) => inTurn(() => update(name, settings, options)),
    reset: (name, keys) => inTurn(() => reset(name, keys)),
    apply: (map, mode, options = {}) => inTurn(() => applyWithRetries(map, mode, options)),
    export: withSecrets =>
      exported((subsystem, stored) => (withSecrets ? (_key, text) => text : masking(subsystem, stored))),
    exportOpen: () =>
      exported((subsystem, { secrets }) => (key, text) => {
        const declared = subsystem?.keys.get(key)
        const isOpen = declared !== undefined && secrets[key] === undefined && !holdsSecret(declared, text)
        return isOpen ? text : undefined
      }),
  }
}

/** Of what was set; a new default changes nothing. */
function etagOf(stored: Iterable<SettingsDocument>): string {
  const etags = [...stored].map(({ id, etag }) => `${id} ${etag}\n`).sort()
  return createHash('sha256').update(etags.join('')).digest('hex').slice(0, 32)
}

const etagOfOne = (document: SettingsDocument | undefined): string => etagOf(document === undefined ? [] : [document])

const nothing: StoredSettings = { texts: {}, secrets: {} }

function refuse(problems: readonly SettingProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  throw settingsErrors.invalid_argument(`${first.element} ${sentenceEnd(first.message)}`, {
    cause: problems.slice(0, problemsMax),
  })
}

/** A stored document that cannot be read is neither merged nor silently replaced. */
async function readable<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!isCatalogError(error) || error.code !== 'document_unreadable') throw error
    throw settingsErrors.conflict('The stored settings of this subsystem cannot be read. Reset it first.', {
      cause: error,
    })
  }
}

function shown(documentId: string, subsystem: Subsystem | undefined, stored: StoredSettings = nothing): ShownSubsystem {
  const mask = masking(subsystem, stored)
  const texts = textsOf(stored)
  const settings: Record<string, string> = {}
  for (const { name, defaultText } of subsystem?.keys.values() ?? [])
    settings[name] = mask(name, texts[name] ?? defaultText)
  for (const [name, text] of Object.entries(texts)) settings[name] ??= mask(name, text)
  const warning =
    subsystem === undefined ? { warning: notLoadedWarning(parseSubsystemName(documentId)!.name) } : undefined
  return { name: shownName(documentId), settings, ...warning }
}

function masking(subsystem: Subsystem | undefined, stored: StoredSettings) {
  return (key: string, text: string): string =>
    shownText(subsystem?.keys.get(key), text, stored.secrets[key] !== undefined)
}

function isSame(one: StoredSettings, other: StoredSettings): boolean {
  return sameTexts(one.texts, other.texts) && sameTexts(one.secrets, other.secrets)
}

function sameTexts(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every(key => one[key] === other[key])
}
