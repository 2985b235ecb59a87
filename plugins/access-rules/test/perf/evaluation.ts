/**
 * CPU per decision of access rules: node --conditions=svc-src plugins/access-rules/test/perf/evaluation.ts
 * Prints microseconds per decision, the median of several rounds; and for texts that are as bad as can be the slowest of many. Not a
 * test: nothing is asserted about time.
 */
import type { RequestFacts } from 'svc/plugins/policy/api'
import { requestOf } from '../../access-rules.ts'
import { checkRules } from '../../check-rules.ts'
import { costMax } from '../../cost.ts'
import { textCharsMax } from '../../regexes.ts'
import type { RuleSet } from '../../rule-set.ts'
import { ada, compile, context, facts, rule } from '../rules.ts'

const rounds = 9
const calls = 100_000
const warmingUp = 50

const kinds = {
  prefix: (index: number) => ({ match: { type: 'prefix', pattern: `tenant-${index}/` } }),
  glob: (index: number) => ({ match: { type: 'glob', pattern: `tenant-${index}/*/{thumbs,large}/*.jpg` } }),
  regex: (index: number) => ({ match: { type: 'regex', pattern: `^tenant-${index}/\\d+/` } }),
  conditions: (index: number) => ({
    match: { type: 'prefix', pattern: `tenant-` },
    conditions: { sourceIp: [`10.${index}.0.0/16`], methods: ['GET'] },
  }),
} as const

const effects = ['allow', 'deny'] as const
const principals = [['*'], ['user:bob'], ['group:ops']]

/** Only the last rule matches, so that all are evaluated. */
function rules(count: number, ...names: (keyof typeof kinds)[]) {
  const list = Array.from({ length: count - 1 }, (_, index) => ({
    ...rule({ id: `r${index}`, priority: index, effect: effects[index % 2]!, principals: principals[index % 3]! }),
    ...kinds[names[index % names.length]!](index),
  }))
  return [...list, rule({ id: 'last', priority: count })]
}

const keys = Array.from({ length: 64 }, (_, index) => `tenant-x${index}/2026/large/photo-${index}.jpg`)

function measure(name: string, set: RuleSet, known: RequestFacts = facts): void {
  const requests = keys.map(key => requestOf({ key, action: 's3:GetObject', identity: ada, facts: known }))
  const figures: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    for (let index = 0; index < calls; index++) {
      if (set.find(requests[index & 63]!, false)?.rule.id !== 'last') throw new Error(name)
    }
    figures.push(process.cpuUsage(before).user / calls)
  }
  figures.sort((a, b) => a - b)
  process.stdout.write(`${name.padEnd(56)} ${figures[rounds >> 1]!.toFixed(2).padStart(8)} µs\n`)
}

measure('1 rule', compile(...rules(1, 'prefix')))
measure('200 rules, prefixes', compile(...rules(200, 'prefix')))
measure('200 rules, globs', compile(...rules(200, 'glob')))
measure('200 rules, prefixes, globs and conditions', compile(...rules(200, 'prefix', 'glob', 'conditions')))
measure('200 rules, 50 regexes among them', compile(...rules(200, 'prefix', 'glob', 'conditions', 'regex')))
measure('50 rules, regexes', compile(...rules(50, 'regex')))

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The slowest of many texts of the greatest length, on sets as costly as they may be. */
function worst(name: string, list: readonly object[], alphabets: readonly string[]): void {
  const { set, problems } = checkRules(list, context)
  if (set === undefined) throw new Error(`${name}: ${problems![0]!.message}`)
  const next = random(7)
  const figures: number[] = []
  for (let index = 0; index < warmingUp + 200; index++) {
    const alphabet = alphabets[index % alphabets.length]!
    const key = Array.from({ length: textCharsMax }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')
    const request = requestOf({ key, action: 's3:GetObject', identity: undefined, facts })
    const before = process.cpuUsage()
    set.find(request, false)
    // The first ones are compiled.
    if (index >= warmingUp) figures.push(process.cpuUsage(before).user / 1000)
  }
  figures.sort((a, b) => a - b)
  const [median, most] = [figures[100]!, figures[199]!]
  process.stdout.write(`${name.padEnd(56)} ${median.toFixed(2).padStart(8)} ms, at most ${most.toFixed(2)} ms\n`)
}

const matching = (type: string, pattern: string, index = 0) => ({
  ...rule({ id: `r${index}` }),
  match: { type, pattern },
})
process.stdout.write(`\nkeys of ${textCharsMax} characters; rules that cost nearly ${costMax}\n`)
worst('nested quantifiers', [matching('regex', '(?:[ab]*a){82}x')], ['ab', 'a', 'aaab'])
worst('exponential automaton', [matching('regex', '(a|b)*a(a|b){77}x')], ['ab', 'a', 'aaab'])
worst('optional repetition', [matching('regex', '(?:a?){80}a{80}x')], ['a', 'aaab'])
worst(
  'many alternatives',
  Array.from({ length: 24 }, (_, i) => matching('regex', `[ab]*a[ab]{${i % 3}}x${i}`, i)),
  ['ab', 'a'],
)
worst(
  'no case',
  [{ ...rule(), match: { type: 'regex', pattern: '(?:[aä]*ſ){60}x', caseInsensitive: true } }],
  ['sSſ', 'aä', 'Äſs'],
)
worst(
  '200 globs',
  Array.from({ length: 200 }, (_, i) => matching('glob', `**a?b*${i}*${'ab'.repeat(30)}`, i)),
  ['ab', 'a', 'a/b'],
)
