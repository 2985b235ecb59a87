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
const warmingUp = 30
/** Of each hostile set. */
const keysTried = 100
const repeats = 9
/** Of one decision, whatever rules and key are. */
const goalMs = 5
const seed = Number(process.env.SEED ?? 7)

const kinds = {
  prefix: (index: number) => ({ match: { type: 'prefix', pattern: `tenant-${index}/` } }),
  glob: (index: number) => ({ match: { type: 'glob', pattern: `tenant-${index}/*/{thumbs,large}/*.jpg` } }),
  regex: (index: number) => ({ match: { type: 'regex', pattern: `^tenant-${index}/\\d+/` } }),
  unanchored: (index: number) => ({ match: { type: 'regex', pattern: `photo-${index}\\.gif$` } }),
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
const kindsOfAll = [
  'prefix',
  'glob',
  'conditions',
  'prefix',
  'glob',
  'prefix',
  'glob',
  'regex',
  'prefix',
  'unanchored',
] as const
measure('200 rules, 20 regexes with ^ and 20 without among them', compile(...rules(200, ...kindsOfAll)))
measure('50 rules, regexes', compile(...rules(50, 'regex')))

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/**
 * Milliseconds of CPU of a decision about keys of the greatest length, on rules that cost nearly what they may: the median of many keys,
 * and the worst one. The figure of a key is the median of several decisions, so that what else the machine does is left out.
 */
function worst(name: string, list: readonly object[], alphabets: readonly string[], known = facts): void {
  const { set, problems } = checkRules(list, context)
  if (set === undefined) throw new Error(`${name}: ${problems![0]!.message}`)
  const next = random(seed)
  const figures: number[] = []
  for (let index = 0; index < warmingUp + keysTried; index++) {
    const alphabet = alphabets[index % alphabets.length]!
    const key = Array.from({ length: textCharsMax }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')
    const request = requestOf({ key, action: 's3:GetObject', identity: undefined, facts: known })
    const decisions = Array.from({ length: repeats }, () => {
      const before = process.cpuUsage()
      set.find(request, false)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    })
    decisions.sort((a, b) => a - b)
    // The first ones are compiled.
    if (index >= warmingUp) figures.push(decisions[repeats >> 1]!)
  }
  figures.sort((a, b) => a - b)
  const [median, most] = [figures[keysTried >> 1]!, figures.at(-1)!]
  const verdict = most <= goalMs ? 'met' : 'MISSED'
  process.stdout.write(
    `${name.padEnd(56)} ${median.toFixed(2).padStart(8)} ms, at most ${most.toFixed(2)} ms: ${verdict}\n`,
  )
}

const matching = (type: string, pattern: string, index = 0) => ({
  ...rule({ id: `r${index}` }),
  match: { type, pattern },
})
/** As many, or as long, as the budget allows. */
function largest(rules: (count: number) => readonly object[]): readonly object[] {
  let [taken, refused] = [1, 400]
  while (refused - taken > 1) {
    const count = (taken + refused) >>> 1
    if (checkRules(rules(count), context).set === undefined) refused = count
    else taken = count
  }
  return rules(taken)
}

const repeated = (pattern: (count: number) => string, more: object = {}) =>
  largest(count => [{ ...rule(), match: { type: 'regex', pattern: pattern(count), ...more } }])
const many = (type: string, pattern: (index: number) => string) =>
  largest(count => Array.from({ length: count }, (_, index) => matching(type, pattern(index), index)))

process.stdout.write(`\nkeys of ${textCharsMax} characters; rules that cost nearly ${costMax}; SEED=${seed}\n`)
worst(
  'nested quantifiers',
  repeated(count => `(?:[ab]*a){${count}}x`),
  ['ab', 'a', 'aaab'],
)
worst(
  'exponential automaton',
  repeated(count => `(a|b)*a(a|b){${count}}x`),
  ['ab', 'a', 'aaab'],
)
worst(
  'optional repetition',
  repeated(count => `(?:a?){${count}}a{${count}}x`),
  ['a', 'aaab'],
)
worst(
  'many alternatives',
  many('regex', index => `[ab]*a[ab]{${index % 3}}x${index}`),
  ['ab', 'a'],
)
worst(
  'many starts',
  many('regex', index => `^[ab]{${index}}`),
  ['ab', 'a'],
)
worst(
  'no case',
  repeated(count => `(?:[aä]*ſ){${count}}x`, { caseInsensitive: true }),
  ['sSſ', 'aä', 'Äſs'],
)
worst(
  'captures',
  largest(count => [
    {
      ...rule(),
      match: { type: 'regex', pattern: `(?P<name>(?:[ab]*a){${count}})b?$` },
      conditions: { captureEquals: { name: 'x' } },
    },
  ]),
  ['ab', 'a', 'aaab'],
)
worst(
  'globs',
  many('glob', index => `**a?b*${index}*${'ab'.repeat(30)}`),
  ['ab', 'a', 'a/b'],
)
worst(
  'globs of other letters, without case',
  largest(count =>
    Array.from({ length: count }, (_, index) => ({
      ...rule({ id: `r${index}` }),
      match: { type: 'glob', pattern: `**ä?${'ß*'.repeat(20)}${index}`, caseInsensitive: true },
    })),
  ),
  ['äß', 'ÄßẞS'],
)
worst(
  'referers and headers',
  largest(count =>
    Array.from({ length: count }, (_, index) => ({
      ...rule({ id: `r${index}`, effect: 'deny' }),
      conditions: { referer: [`*a?b*${index}*`], headers: { 'user-agent': `*${'a?'.repeat(10)}${index}*` } },
    })),
  ),
  ['ab'],
  { ...facts, headers: { referer: 'ab'.repeat(2048), 'user-agent': 'a'.repeat(4096) } },
)
