/** Patterns and keys that are as bad as they can be: the work is counted, in steps and not in time. */
import { createRequire } from 'node:module'
import t from 'tap'
import { checkRules } from '../check-rules.ts'
import { costMax } from '../cost.ts'
import { compileGlob } from '../glob.ts'
import { createRegexSet, textCharsMax, widthOf } from '../regexes.ts'
import { compile, context, decide, rule } from './rules.ts'

/** As the plugin loads it. */
const { RE2Set } = createRequire(import.meta.url)('re2js') as typeof import('re2js')

let instructions = 0
const { compile: compileSet } = RE2Set.prototype
/** Each step of the library takes an instruction from its program: they are counted there. */
RE2Set.prototype.compile = function () {
  compileSet.call(this)
  const { prog } = this as unknown as { readonly prog: { inst: object[] } }
  prog.inst = new Proxy(prog.inst, {
    get(target, name) {
      instructions++
      return Reflect.get(target, name)
    },
  })
}
t.teardown(() => {
  RE2Set.prototype.compile = compileSet
})

function countInstructions(work: () => void): number {
  const before = instructions
  work()
  return instructions - before
}

/** As the budget allows. */
const statesMax = costMax / 5

const regexRule = (pattern: string, more: object = {}) => ({ ...rule(), match: { type: 'regex', pattern, ...more } })

/** The largest count of a repetition with which the pattern is still taken. */
function largest(pattern: (count: number) => string, more: object = {}): string {
  let [taken, refused] = [1, 400]
  while (refused - taken > 1) {
    const count = (taken + refused) >>> 1
    if (checkRules([regexRule(pattern(count), more)], context).set === undefined) refused = count
    else taken = count
  }
  return pattern(taken)
}

const hostile: readonly (readonly [
  name: string,
  pattern: (count: number) => string,
  alphabet: string,
  more?: object,
])[] = [
  ['nested quantifiers', count => `(?:[ab]*a){${count}}x`, 'ab'],
  ['an automaton that doubles with each repetition', count => `(a|b)*a(a|b){${count}}x`, 'ab'],
  ['repetitions of what may be missing', count => `(?:a?){${count}}a{${count}}x`, 'a'],
  ['folded case of Unicode', count => `(?:[aä]*ſ){${count}}x`, 'sSſaÄ', { caseInsensitive: true }],
]

function texts(alphabet: string): readonly string[] {
  const letters = [...alphabet]
  let state = 7
  return Array.from({ length: 4 }, () =>
    Array.from({ length: textCharsMax }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return letters[(state >>> 16) % letters.length]
    }).join(''),
  )
}

t.test(
  'a text of the greatest length costs the states of the budget for each character, whatever the pattern is',
  async t => {
    for (const [name, pattern, alphabet, more = {}] of hostile) {
      const source = largest(pattern, more)
      const set = createRegexSet([{ source, isCaseInsensitive: 'caseInsensitive' in more }])
      const counts = texts(alphabet).map(text => countInstructions(() => void set.match(text)))
      const most = Math.max(...counts)
      // Several for each state and character: an automaton may be begun twice and given up, and states are entered and left.
      t.ok(most <= 6 * statesMax * textCharsMax, `${name}: ${most} instructions`)
      t.ok(most > textCharsMax, 'they are counted')
    }
  },
)

t.test('patterns with quadratic or exponential time in other engines take linear time', async t => {
  const evil = ['(a+)+$', '(a|a)*$', '(a|aa)+$', '(.*a){20}$', '^(([a-z])+.)+[A-Z]([a-z])+$']
  for (const source of evil) {
    const set = createRegexSet([{ source, isCaseInsensitive: false }])
    const count = (length: number) => countInstructions(() => void set.match(`${'a'.repeat(length)}!`))
    const [short, long] = [count(256), count(1023)]
    t.ok(long <= 8 * Math.max(short, 1000), `${source}: ${short} instructions, of four times the text ${long}`)
  }
})

t.test('the states of an expression are measured', async t => {
  const width = (source: string) => widthOf({ source, isCaseInsensitive: false }, 1_000_000)
  // The automaton is the library's own: were it another one, each expression would be taken for its size.
  t.ok(width('^a/') <= 3)
  t.ok(width('^users/(?P<name>[^/]+)/.*\\.jpg$') <= 8)
  t.ok(width('(a+)+$') <= 8)
  t.equal(width('(a|b)*a(a|b){30}'), 3_000_000, 'what has no small automaton counts with three times its size')
})

t.test('globs look at each character once', async t => {
  const glob = compileGlob(`**${'a*b?'.repeat(60)}`, 'path')
  t.equal(glob.costPerCharacter, 8)
  let reads = 0
  const counted = {
    length: textCharsMax,
    startsWith: () => true,
    codePointAt() {
      reads++
      return 0x61
    },
  }
  glob.matches(counted as never)
  t.equal(reads, textCharsMax)
})

t.test('keys of 64 KiB are matched with no pattern at all', async t => {
  const set = compile(regexRule(hostile[0]![1](10)), {
    ...rule({ id: 'g' }),
    match: { type: 'glob', pattern: '*a?**b*' },
  })
  const key = 'ab'.repeat(32 * 1024)
  t.equal(
    countInstructions(() => t.equal(decide(set, { key }), 'none')),
    0,
  )
})
