/** Computes the settings of one subsystem after a change, and all problems of the change. Pure functions. */
import { suggest } from 'svc/kernel'
import { maskedValue } from './api.ts'
import { type StoredSettings, textsOf } from './documents.ts'
import { holdsSecret, isHidden, isMasked, shownText } from './masking.ts'
import { parseSetting, readValues, type Subsystem } from './subsystem.ts'

/** The place (`logger.level`, or `logger`), and a sentence that continues it, without secrets. */
export interface SettingProblem {
  readonly element: string
  readonly message: string
}

export interface Change {
  /** The name in the request. */
  readonly name: string
  readonly id: string
  /** Undefined if no loaded plugin declares it: then values can only be kept and reset. */
  readonly subsystem: Subsystem | undefined
  readonly stored: StoredSettings | undefined
  readonly settings: Readonly<Record<string, string | null>>
  /** `replace`: keys that are not in the settings are reset. */
  readonly mode: 'merge' | 'replace'
}

const noKey = (key: string, subsystem: Subsystem | undefined): string =>
  `is not a key of the subsystem${suggest(key, subsystem?.keys.keys() ?? [])}`

/** The settings to be stored; undefined if there is a problem, which is added to `problems`. */
export function changedSettings(change: Change, problems: SettingProblem[]): StoredSettings | undefined {
  const { name, id, subsystem, stored, settings, mode } = change
  const problemsBefore = problems.length
  const present = stored === undefined ? new Map<string, string>() : new Map(Object.entries(textsOf(stored)))
  const next = mode === 'merge' ? new Map(present) : new Map<string, string>()
  const add = (key: string, message: string) => problems.push({ element: `${name}.${key}`, message })
  for (const [key, text] of Object.entries(settings)) {
    const declared = subsystem?.keys.get(key)
    const before = present.get(key)
    if (text === null) {
      if (declared === undefined && before === undefined) add(key, noKey(key, subsystem))
      next.delete(key)
    } else if (declared === undefined) {
      // A key of a plugin that is not loaded, or of another release: a value that was read may be sent back.
      if (before === undefined) {
        add(key, subsystem === undefined ? 'belongs to no loaded plugin' : noKey(key, subsystem))
      } else if (text !== maskedValue && text !== before) {
        add(key, 'cannot be changed: no loaded plugin declares it')
      } else next.set(key, before)
    } else if (isMasked(declared, text)) {
      if (before !== undefined && shownText(declared, before, true) === text) next.set(key, before)
      else if (!declared.isSecret) add(key, 'has a masked part, which is kept only if nothing else of it changes')
      else if (declared.defaultText === '') add(key, 'is masked, and there is no stored secret to keep')
    } else {
      const parsed = parseSetting(declared, text)
      if ('problem' in parsed) add(key, parsed.problem)
      else if (mode === 'merge' || before !== undefined || parsed.text !== declared.defaultText) {
        next.set(key, parsed.text)
      }
    }
  }
  if (problems.length === problemsBefore && subsystem !== undefined) {
    problems.push(...strayedSecrets(subsystem, change, present, next))
  }
  if (subsystem?.declaration.validate !== undefined) {
    // A wrong value counts as what was there before it, so that the others are told of in the same answer; not what may follow from it.
    const wrong = new Set(problems.slice(problemsBefore).map(({ element }) => element.slice(name.length + 1)))
    const { values } = readValues(subsystem, Object.fromEntries(next))
    for (const { key, problem } of subsystem.declaration.validate(values, id)) {
      if (!wrong.has(key) && !wordsOf(problem).some(word => wrong.has(word))) add(key, problem)
    }
  }
  if (problems.length > problemsBefore) return undefined
  const result: StoredSettings = { texts: {}, secrets: {} }
  for (const [key, text] of next) {
    // A sealed value stays sealed, even if another plugin, or none, declares the key now.
    const declared = subsystem?.keys.get(key)
    const isSecret = (declared !== undefined && holdsSecret(declared, text)) || stored?.secrets[key] !== undefined
    result[isSecret ? 'secrets' : 'texts'][key] = text
  }
  return result
}

const wordsOf = (text: string): readonly string[] => text.match(/\w+/g) ?? []

/**
 * A change of the destination of a secret must contain the secret: otherwise a caller who may change settings but not read secrets could
 * have a secret sent to a server of its own. An empty destination is allowed, because nothing is sent then.
 */
function* strayedSecrets(
  { keys }: Subsystem,
  { name, settings }: Change,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Generator<SettingProblem> {
  const moved = [...keys.values()].filter(({ name: key, isDestination, defaultText }) => {
    const text = after.get(key) ?? defaultText
    return isDestination && text !== '' && text !== (before.get(key) ?? defaultText)
  })
  if (moved.length === 0) return
  const destinations = moved.map(({ name: key }) => key).join(', ')
  for (const declared of keys.values()) {
    const { name: key } = declared
    const [text = '', sent] = [after.get(key), settings[key]]
    const isGiven = typeof sent === 'string' && !isMasked(declared, sent)
    if (text === '' || isGiven || !isHidden(declared, text)) continue
    const verb = moved.length === 1 ? 'changes' : 'change'
    yield {
      element: `${name}.${key}`,
      message: `must be given again, because ${destinations} ${verb}, which it is sent to`,
    }
  }
}
