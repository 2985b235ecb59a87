/**
 * Selects the rules that may match a request without comparing each: one bit per rule, in the order in which rules decide, found by
 * action, by caller, by the literal beginning of the pattern and by regex. Only the selected rules are compared one by one.
 */
import type { Identity } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import type { CompiledRule } from './compiled-rule.ts'
import type { RequestView } from './request-view.ts'

type Bits = Int32Array

/** Indexed characters of a literal beginning. More of them would distinguish few rules and take memory. */
export const indexedCharsMax = 32

interface Node {
  /** Rules whose literal prefix ends here. */
  rules: number[] | undefined
  next: Map<number, Node> | undefined
}

/** The rules of each name. Mostly it is one rule, so a bit set for each name would be larger. */
type RulesByName<K> = Map<K, number[]>

export class RuleIndex {
  readonly #words: number
  readonly #everybody: Bits
  /** The rules for everybody while public access is blocked. */
  readonly #everybodyBlocked: Bits
  readonly #byAction = new Map<string, Bits>()
  readonly #users: RulesByName<string> = new Map()
  readonly #groups: RulesByName<string> = new Map()
  readonly #root: Node = { rules: undefined, next: undefined }
  readonly #anyStart: Bits
  readonly #regexes: Bits
  readonly #byRegex: RulesByName<number> = new Map()
  readonly #callers: Bits
  readonly #starts: Bits
  readonly #matched: Bits

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
    this.#matched = empty()
    for (const [index, { actions, principals, isDeny, pattern }] of rules.entries()) {
      for (const action of actions) {
        const bits = this.#byAction.get(action) ?? empty()
        set(bits, index)
        this.#byAction.set(action, bits)
      }
      if (principals.everybody) set(this.#everybody, index)
      if (principals.everybody && isDeny) set(this.#everybodyBlocked, index)
      for (const user of principals.users) add(this.#users, user, index)
      for (const group of principals.groups) add(this.#groups, group, index)
      if (pattern.regexIndex >= 0) {
        set(this.#regexes, index)
        add(this.#byRegex, pattern.regexIndex, index)
      }
      if (pattern.literalStart === '') set(this.#anyStart, index)
      else {
        const node = this.#nodeOf(pattern.literalStart.slice(0, indexedCharsMax))
        node.rules ??= []
        node.rules.push(index)
      }
    }
  }

  #nodeOf(start: string): Node {
    let node = this.#root
    for (let at = 0; at < start.length; at++) {
      const code = start.charCodeAt(at)
      node.next ??= new Map()
      let next = node.next.get(code)
      if (next === undefined) {
        next = { rules: undefined, next: undefined }
        node.next.set(code, next)
      }
      node = next
    }
    return node
  }

  /** Valid until it is called again; undefined where no rule has the action. No rule that matches is missing. */
  candidates(view: RequestView, isPublicBlocked: boolean): Bits | undefined {
    const { request, isTooLong } = view
    const ofAction = this.#byAction.get(request.action)
    if (ofAction === undefined) return undefined
    const bits = this.#callersOf(request.identity, isPublicBlocked)
    keep(bits, ofAction)
    // There every pattern counts as matching, of some rules.
    if (isTooLong || (view.isListing && request.isPartial)) return bits
    keep(bits, this.#startsOf(view.text))
    if (!intersects(bits, this.#regexes)) return bits
    const matched = this.#matched
    matched.fill(0)
    for (const regex of view.matchedRegexes) join(matched, this.#byRegex.get(regex))
    for (let word = 0; word < bits.length; word++) bits[word]! &= ~this.#regexes[word]! | matched[word]!
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
      node = node.next?.get(text.charCodeAt(at))
      if (node === undefined) break
      join(bits, node.rules)
    }
    return bits
  }
}

function add<K>(map: RulesByName<K>, name: K, index: number): void {
  const known = map.get(name)
  if (known === undefined) map.set(name, [index])
  else known.push(index)
}

function set(bits: Bits, index: number): void {
  bits[index >>> 5]! |= 1 << (index & 31)
}

function join(bits: Bits, rules: readonly number[] | undefined): void {
  if (rules !== undefined) for (const index of rules) set(bits, index)
}

function keep(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word]! &= others[word]!
}

function intersects(bits: Bits, others: Bits): boolean {
  for (let word = 0; word < bits.length; word++) if ((bits[word]! & others[word]!) !== 0) return true
  return false
}
