/**
 * Selects the rules that may match a request without comparing each: one bit per rule, in the order in which rules decide, and bit sets by
 * caller, by the literal beginning of the pattern and by regex. Only the selected rules are compared one by one.
 */
import type { Identity } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import type { CompiledRule } from './compiled-rule.ts'
import type { RequestView } from './request-view.ts'

type Bits = Int32Array

/** Of a literal beginning; more characters would tell few rules apart and take memory. */
const indexedCharsMax = 32

interface Node {
  /** Rules whose literal prefix ends here. */
  bits: Bits | undefined
  readonly next: Map<number, Node>
}

export class RuleIndex {
  readonly #words: number
  readonly #everybody: Bits
  /** The same while public access is blocked. */
  readonly #everybodyBlocked: Bits
  readonly #users = new Map<string, Bits>()
  readonly #groups = new Map<string, Bits>()
  readonly #root: Node = { bits: undefined, next: new Map() }
  readonly #anyStart: Bits
  readonly #regexes: Bits
  readonly #byRegex = new Map<number, Bits>()
  readonly #callers: Bits
  readonly #starts: Bits

  /** In the order in which they decide. */
  constructor(rules: readonly CompiledRule[]) {
    this.#words = (rules.length + 31) >>> 5
    const empty = () => new Int32Array(this.#words)
    this.#everybody = empty()
    this.#everybodyBlocked = empty()
    this.#anyStart = empty()
    this.#regexes = empty()
    this.#callers = empty()
    this.#starts = empty()
    const addTo = <K>(map: Map<K, Bits>, key: K, index: number) => {
      const bits = map.get(key) ?? empty()
      set(bits, index)
      map.set(key, bits)
    }
    for (const [index, { principals, isDeny, pattern }] of rules.entries()) {
      if (principals.everybody) set(this.#everybody, index)
      if (principals.everybody && isDeny) set(this.#everybodyBlocked, index)
      for (const user of principals.users) addTo(this.#users, user, index)
      for (const group of principals.groups) addTo(this.#groups, group, index)
      if (pattern.regexIndex >= 0) {
        set(this.#regexes, index)
        addTo(this.#byRegex, pattern.regexIndex, index)
      }
      if (pattern.literalStart === '') set(this.#anyStart, index)
      else {
        const node = this.#nodeOf(pattern.literalStart.slice(0, indexedCharsMax))
        node.bits ??= empty()
        set(node.bits, index)
      }
    }
  }

  #nodeOf(start: string): Node {
    let node = this.#root
    for (let at = 0; at < start.length; at++) {
      const code = start.charCodeAt(at)
      let next = node.next.get(code)
      if (next === undefined) {
        next = { bits: undefined, next: new Map() }
        node.next.set(code, next)
      }
      node = next
    }
    return node
  }

  /** Valid until it is called again. No rule that matches is missing. */
  candidates(view: RequestView, isPublicBlocked: boolean): Bits {
    const { request, isTooLong } = view
    const bits = this.#callersOf(request.identity, isPublicBlocked)
    // There every pattern counts as matching, of some rules.
    if (isTooLong || (view.isListing && request.isPartial)) return bits
    keep(bits, this.#startsOf(view.text))
    if (!intersects(bits, this.#regexes)) return bits
    for (let word = 0; word < bits.length; word++) {
      let matched = 0
      for (const regex of view.matchedRegexes) matched |= this.#byRegex.get(regex)?.[word] ?? 0
      bits[word]! &= ~this.#regexes[word]! | matched
    }
    return bits
  }

  #callersOf(identity: Identity | undefined, isPublicBlocked: boolean): Bits {
    const bits = this.#callers
    bits.set(isPublicBlocked ? this.#everybodyBlocked : this.#everybody)
    if (identity === undefined) return bits
    join(bits, this.#users.get(userNameOf(identity)))
    if (this.#groups.size > 0) for (const group of identity.groups ?? []) join(bits, this.#groups.get(group))
    return bits
  }

  #startsOf(text: string): Bits {
    const bits = this.#starts
    bits.set(this.#anyStart)
    let node: Node | undefined = this.#root
    for (let at = 0; at < text.length; at++) {
      node = node.next.get(text.charCodeAt(at))
      if (node === undefined) break
      join(bits, node.bits)
    }
    return bits
  }
}

function set(bits: Bits, index: number): void {
  bits[index >>> 5]! |= 1 << (index & 31)
}

function join(bits: Bits, others: Bits | undefined): void {
  if (others !== undefined) for (let word = 0; word < bits.length; word++) bits[word]! |= others[word]!
}

function keep(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word]! &= others[word]!
}

function intersects(bits: Bits, others: Bits): boolean {
  for (let word = 0; word < bits.length; word++) if ((bits[word]! & others[word]!) !== 0) return true
  return false
}
