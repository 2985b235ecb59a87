/**
 * What a client knows of the objects that it wrote: for each key the state that was acknowledged last, and the states that
 * it asked for since without an answer. After a crash the server must show one of those, whole.
 */
import { bytesOf, sha256 } from '../wire/clients.ts'

/** The hash of the content, or undefined where there is no object. */
export type State = string | undefined

interface KnownKey {
  acknowledged: State
  /** Every state that was acknowledged once, the oldest first. */
  readonly history: State[]
  readonly asked: Set<State>
}

export interface Content {
  readonly bytes: Buffer
  readonly hash: string
}

/** Content that no other write has. */
export function contentOf(seed: string, size: number): Content {
  const bytes = bytesOf(seed, size)
  return { bytes, hash: `${size}:${sha256(bytes)}` }
}

export function stateOf(bytes: Uint8Array): string {
  return `${bytes.length}:${sha256(bytes)}`
}

export interface JournalOfAcks {
  /** Call before the request goes out. */
  ask(key: string, state: State): void
  /** Call when the answer was a success. */
  acknowledge(key: string, state: State): void
  /** What is wrong with a state that was read while the server ran, or undefined. */
  check(key: string, seen: State): string | undefined
  /**
   * After a crash: what is seen now is what counts from now on. Unless it `isFinal`, what was asked for without an answer may still
   * come; what was seen once does not go back. Returns what is wrong with it, or undefined.
   */
  settle(key: string, seen: State, isFinal: boolean): string | undefined
  /** Every key that was ever written. */
  keys(): string[]
  /** Keys that exist for certain, and keys that may exist. */
  present(): { readonly certain: Set<string>; readonly possible: Set<string> }
}

export function createJournalOfAcks(): JournalOfAcks {
  const known = new Map<string, KnownKey>()
  const of = (key: string): KnownKey => {
    const entry = known.get(key) ?? { acknowledged: undefined, history: [undefined], asked: new Set<State>() }
    known.set(key, entry)
    return entry
  }
  const possible = (key: string) => new Set([of(key).acknowledged, ...of(key).asked])
  const check = (key: string, seen: State): string | undefined => {
    const allowed = possible(key)
    if (allowed.has(seen)) return undefined
    const { history } = of(key)
    const age = history.length - 1 - history.lastIndexOf(seen)
    const origin = age === history.length ? 'never written whole' : `acknowledged, and replaced ${age} writes ago`
    const names = [...allowed].map(state => state ?? 'nothing')
    return `${key}: seen ${seen ?? 'nothing'} (${origin}), possible ${names.join(' or ')}`
  }
  return {
    ask: (key, state) => void of(key).asked.add(state),
    acknowledge(key, state) {
      const entry = of(key)
      entry.acknowledged = state
      entry.history.push(state)
      entry.asked.clear()
    },
    check,
    settle(key, seen, isFinal) {
      const problem = check(key, seen)
      const entry = of(key)
      entry.acknowledged = seen
      entry.history.push(seen)
      if (isFinal) entry.asked.clear()
      return problem
    },
    keys: () => [...known.keys()],
    present() {
      const certain = new Set<string>()
      const maybe = new Set<string>()
      for (const key of known.keys()) {
        const states = possible(key)
        if (!states.has(undefined)) certain.add(key)
        if (states.size > 1 || !states.has(undefined)) maybe.add(key)
      }
      return { certain, possible: maybe }
    },
  }
}
