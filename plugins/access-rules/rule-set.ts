/**
 * The rules of a bucket, compiled once for every change. Of the rules that match, the one with the lowest priority decides, and of several
 * with the same one a deny: they stand in this order, so that the first that matches decides.
 */
import type { BucketRules, RuleDecision, RuleRequest } from 'svc/plugins/policy/api'
import { type CompiledRule, circumstantialMismatchOf } from './compiled-rule.ts'
import type { RegexList } from './matching.ts'
import { memoryOfRegexes, memoryOfRule } from './memory.ts'
import { createRegexSet, type RegexSet } from './regexes.ts'
import { RequestView } from './request-view.ts'
import { type OpenTime, openTimeOf } from './rule.ts'
import { RuleIndex } from './rule-index.ts'
import { shadowOf } from './shadowing.ts'

export class RuleSet {
  /** In the order in which they decide. */
  readonly ordered: readonly CompiledRule[]
  /** A rule allows something to everybody, also if it has ended or another rule decides before it. */
  readonly isPublic: boolean
  /** In each thread, about. */
  readonly memoryBytes: number
  readonly #index: RuleIndex
  readonly #regexes: RegexSet | undefined
  /** Computed when they are asked for first. */
  #public: readonly (OpenTime & { readonly rule: CompiledRule })[] | undefined

  constructor(rules: readonly CompiledRule[], list: RegexList) {
    const { regexes } = list

    this.ordered = rules.toSorted((a, b) => a.rule.priority - b.rule.priority || Number(b.isDeny) - Number(a.isDeny))
    this.isPublic = rules.some(rule => rule.isPublic)
    this.#index = new RuleIndex(this.ordered)
    this.memoryBytes = rules.reduce((sum, rule) => sum + memoryOfRule(rule), memoryOfRegexes(list))
    this.#regexes = regexes.length === 0 ? undefined : createRegexSet(regexes)
  }

  view(request: RuleRequest): RequestView {
    return new RequestView(request, this.#regexes)
  }

  /** The rule that decides; undefined where none matches. */
  find(request: RuleRequest, isPublicBlocked: boolean): CompiledRule | undefined {
    const view = this.view(request)
    const bits = this.#index.candidates(view, isPublicBlocked)
    if (bits === undefined) return undefined
    for (let word = 0; word < bits.length; word++) {
      for (let left = bits[word]!; left !== 0; left &= left - 1) {
        const rule = this.ordered[(word << 5) + 31 - Math.clz32(left & -left)]!
        if (circumstantialMismatchOf(rule, view) === undefined) return rule
      }
    }
    return undefined
  }

  /** Whether a rule allows something to everybody at this instant: one that has ended, begins later or never decides does not. */
  isPublicAt(nowMs: number): boolean {
    return this.publicFrom(nowMs).some(({ fromMs }) => fromMs <= nowMs)
  }

  /** These rules, and those that begin later, in the order in which they decide. */
  publicFrom(nowMs: number): readonly { readonly rule: CompiledRule; readonly fromMs: number }[] {
    this.#public ??= this.ordered.flatMap((rule, index) =>
      rule.isPublic && shadowOf(rule, this.ordered.slice(0, index)) === undefined
        ? [{ rule, ...openTimeOf(rule.rule) }]
        : [],
    )
    return this.#public.filter(({ toMs }) => nowMs < toMs)
  }

  /** For the policy engine. `isPublicBlocked`: by the bucket or the cluster. `now`: ms since 1970. */
  asBucketRules(isPublicBlocked: boolean, now: () => number): BucketRules {
    return Object.freeze({
      isPublicNow: () => !isPublicBlocked && this.isPublicAt(now()),
      decide: (request: RuleRequest) => decisionOf(this.find(request, isPublicBlocked || request.blocksPublic)),
      blockedBy: (request: RuleRequest) => {
        if (!isPublicBlocked && !request.blocksPublic) return undefined
        const open = this.find(request, false)
        if (open === undefined || open.isDeny) return undefined
        return this.find(request, true) === undefined ? open.rule.id : undefined
      },
    })
  }
}

export function decisionOf(rule: CompiledRule | undefined): RuleDecision | undefined {
  return rule === undefined ? undefined : { effect: rule.isDeny ? 'deny' : 'allow', rule: rule.rule.id }
}
