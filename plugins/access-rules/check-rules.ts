/** Checks and compiles rules from a request body, or returns all of their problems. */
import { suggest } from 'svc/kernel'
import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import { type CompiledRule, compileRule, type RuleContext } from './compiled-rule.ts'
import { costMax, costOf, headerCostOf } from './cost.ts'
import { RegexList } from './matching.ts'
import { memoryBytesMax, memoryOfRegexes, memoryOfRule } from './memory.ts'
import { type AccessRuleProblem, Problems } from './problems.ts'
import { AccessRule, Conditions, Match, priorityDefault } from './rule.ts'
import { RuleSet } from './rule-set.ts'

export type CheckResult =
  | { readonly rules: readonly AccessRule[]; readonly set: RuleSet; readonly problems: undefined }
  | { readonly rules: undefined; readonly set: undefined; readonly problems: readonly AccessRuleProblem[] }

/** Never throws for invalid input. The caller bounds the number of rules. */
export function checkRules(sent: readonly unknown[], context: RuleContext): CheckResult {
  const problems = new Problems()
  const rules = sent.flatMap((value, index) => readShape(value, index, problems))
  checkIds(rules, problems)
  const regexes = new RegexList()
  const compiled: CompiledRule[] = []
  const spent = { headers: 0, memoryBytes: 0 }
  for (const { rule, index } of rules) {
    // The rest would only take time: rules that cost too much are refused as a whole.
    if (spent.headers > costMax || spent.memoryBytes > memoryBytesMax) break
    problems.rule = index
    problems.id = rule.id
    const one = compileRule(rule, context, regexes, problems)
    compiled.push(one)
    spent.headers += headerCostOf(one)
    spent.memoryBytes += memoryOfRule(one)
  }
  problems.rule = -1
  problems.id = ''
  const memoryBytes = spent.memoryBytes + memoryOfRegexes(regexes)
  if (problems.list.length === 0) checkCost(compiled, regexes, problems)
  if (problems.list.length === 0) checkMemory(memoryBytes, problems)
  if (problems.list.length > 0)
    return { rules: undefined, set: undefined, problems: problems.list.toSorted((a, b) => a.rule - b.rule) }
  return { rules: rules.map(({ rule }) => rule), set: new RuleSet(compiled, regexes), problems: undefined }
}

/** Compiles rules that were checked when they were stored. Undefined if they are no longer valid. */
export function compileStoredRules(
  rules: readonly AccessRule[],
  context: RuleContext,
): { readonly set: RuleSet } | { readonly problem: AccessRuleProblem } {
  const problems = new Problems()
  const regexes = new RegexList()
  const compiled = rules.map((rule, index) => {
    problems.rule = index
    problems.id = rule.id
    return compileRule(rule, context, regexes, problems)
  })
  const [problem] = problems.list
  return problem === undefined ? { set: new RuleSet(compiled, regexes) } : { problem }
}

interface ReadRule {
  readonly rule: Static<typeof AccessRule>
  readonly index: number
}

function readShape(value: unknown, index: number, problems: Problems): readonly ReadRule[] {
  problems.rule = index
  problems.id = idOf(value)
  const rule =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { priority: priorityDefault, ...value }
      : value
  const errors = Value.Errors(AccessRule, rule)
  for (const { keyword, instancePath, message, params } of errors) {
    // The errors of alternatives and of unknown fields beside these do not help.
    const field = fieldOf(instancePath)
    const { requiredProperties = [], additionalProperties = [] } = params as Readonly<Record<string, string[]>>
    if (keyword === 'required') for (const name of requiredProperties) problems.add(within(field, name), 'is missing')
    else if (keyword === 'additionalProperties') {
      for (const name of additionalProperties)
        problems.add(
          within(field, name.slice(0, 80)),
          `is no field of a rule${suggest(name, fieldNames(instancePath))}`,
        )
    } else if (keyword === 'anyOf')
      problems.add(field, `is none of the words that may stand here: ${choicesOf(instancePath)}`)
    else if (keyword !== 'const' && keyword !== 'boolean') problems.add(field, message)
  }
  return errors.length === 0 ? [{ rule: rule as AccessRule, index }] : []
}

function idOf(value: unknown): string {
  const id: unknown = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : undefined
  return typeof id === 'string' ? id.slice(0, 64) : ''
}

const choicesOf = (path: string): string => (path === '/effect' ? 'allow, deny' : 'prefix, glob, regex')

/** `/conditions/sourceIp/1` is `conditions.sourceIp[1]`. */
function fieldOf(pointer: string): string {
  const names = pointer.split('/').slice(1)
  return names.reduce((field, name) => (/^\d+$/.test(name) ? `${field}[${name}]` : within(field, name)), '')
}

/** The fields that may stand in this place. */
function fieldNames(path: string): readonly string[] {
  const schema = path === '/match' ? Match : path === '/conditions' ? Conditions : AccessRule
  return path === '/conditions/timeWindow' ? ['from', 'to'] : Object.keys(schema.properties)
}

const within = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`)

function checkIds(rules: readonly ReadRule[], problems: Problems): void {
  const ids = new Set<string>()
  for (const { rule, index } of rules) {
    problems.rule = index
    problems.id = rule.id
    if (!ids.has(rule.id)) ids.add(rule.id)
    else problems.add('id', `two rules have the id ${JSON.stringify(rule.id)}`)
  }
}

function checkCost(rules: readonly CompiledRule[], regexes: RegexList, problems: Problems): void {
  const { total, ...parts } = costOf(rules, regexes)
  if (total <= costMax) return
  const [dearest, cost] = Object.entries(parts).reduce((a, b) => (b[1] > a[1] ? b : a))
  problems.add(
    '',
    `all rules together cost ${total} for the worst request, ${cost} of it ${words[dearest as keyof typeof parts]}; at most ${costMax} is allowed`,
  )
}

function checkMemory(bytes: number, problems: Problems): void {
  if (bytes <= memoryBytesMax) return
  const [needed, allowed] = [bytes, memoryBytesMax].map(size => (size / 2 ** 20).toFixed(1))
  const hint = 'use groups instead of many users, and fewer alternatives in braces'
  problems.add(
    '',
    `all rules together need ${needed} MiB of memory in each thread: ${hint}; at most ${allowed} are allowed`,
  )
}

const words = {
  regexes: 'for regexes: begin them with ^, repeat less, or use prefix and glob',
  globs: 'for globs: begin them with literal text, or use fewer wildcards in long ones',
  headers: 'for patterns of headers and referers: write whole values, or one star at the end',
} as const
