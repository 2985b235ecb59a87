/**
 * The WebAssembly text of MD5 (RFC 1321) of several messages at a time; `npm run build:wasm` makes md5-lanes.wat and md5-lanes.wasm of it.
 *
 * Each step of MD5 needs the result of the one before, so a message alone leaves most of a processor idle. Here each 32-bit lane of
 * a vector is another message. Two vectors are worked on in turns, so that one has something to do while the other waits: `run8`
 * takes eight messages, `run4` four. `run1` takes one, without vectors: for a message that the others have left alone.
 *
 * Where things are in the memory: at 0 the table, for others to fill: for each message the address of its state (the four words of
 * MD5) and that of its next block. Then the words of a block, by lanes. The rest is for states and messages.
 */
const lanesOfVector = 4
const groupsMax = 2
const wordsOfBlock = 16
const blockBytes = 64
const layout = placeAll()

function placeAll() {
  const entryBytes = 8
  const wordsAt = entryBytes * lanesOfVector * groupsMax
  const freeAt = wordsAt + 16 * wordsOfBlock * groupsMax
  return { entryBytes, wordsAt, freeAt }
}

const range = count => [...Array(count).keys()]
const constants = range(64).map(step => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32))
const shifts = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
]
/** Which word of the block a step takes. */
const wordOf = [step => step, step => (5 * step + 1) % 16, step => (3 * step + 5) % 16, step => (7 * step) % 16]
const get = name => `(local.get $${name})`
const xor = (a, b) => `(v128.xor ${a} ${b})`
const and = (a, b) => `(v128.and ${a} ${b})`
const or = (a, b) => `(v128.or ${a} ${b})`
const add = (a, b) => `(i32x4.add ${a} ${b})`
/** The functions of the RFC, two of them in a form that needs one operation less. */
const mix = [
  (b, c, d) => xor(d, and(b, xor(c, d))),
  (b, c, d) => xor(c, and(d, xor(b, c))),
  (b, c, d) => xor(b, xor(c, d)),
  (b, c, d) => xor(c, or(b, `(v128.not ${d})`)),
]

/** Vectors whose 32-bit lanes alternate between the low or the high halves of two others, and those of their 64-bit halves. */
const bytesOf = words => words.flatMap(word => range(4).map(byte => 4 * word + byte)).join(' ')
const low = (a, b) => `(i8x16.shuffle ${bytesOf([0, 4, 1, 5])} ${a} ${b})`
const high = (a, b) => `(i8x16.shuffle ${bytesOf([2, 6, 3, 7])} ${a} ${b})`
const firsts = (a, b) => `(i8x16.shuffle ${bytesOf([0, 1, 4, 5])} ${a} ${b})`
const seconds = (a, b) => `(i8x16.shuffle ${bytesOf([2, 3, 6, 7])} ${a} ${b})`

/** Makes columns of the four rows in $r0 to $r3; `put(i, column)` says what becomes of each. */
function transpose(put) {
  return `
        (local.set $t0 ${low(get('r0'), get('r1'))})
        (local.set $t1 ${low(get('r2'), get('r3'))})
        (local.set $t2 ${high(get('r0'), get('r1'))})
        (local.set $t3 ${high(get('r2'), get('r3'))})
        ${put(0, firsts(get('t0'), get('t1')))}
        ${put(1, seconds(get('t0'), get('t1')))}
        ${put(2, firsts(get('t2'), get('t3')))}
        ${put(3, seconds(get('t2'), get('t3')))}`
}

const entryOf = (group, lane) => layout.entryBytes * (group * lanesOfVector + lane)
const stateOf = (group, lane) => `(i32.load offset=${entryOf(group, lane)} (i32.const 0))`
const wordAt = (group, word) => layout.wordsAt + 16 * (groupsMax * word + group)

const loadStates = group =>
  `${range(lanesOfVector)
    .map(lane => `\n        (local.set $r${lane} (v128.load ${stateOf(group, lane)}))`)
    .join('')}${transpose((i, column) => `(local.set $${'abcd'[i]}${group} ${column})`)}`

const storeStates = group =>
  `${range(4)
    .map(i => `\n        (local.set $r${i} ${get(`${'abcd'[i]}${group}`)})`)
    .join('')}${transpose((lane, column) => `(v128.store ${stateOf(group, lane)} ${column})`)}`

/** The next block of each message, as vectors of the same word of all of them. */
const loadBlocks = group =>
  range(4)
    .map(
      quarter =>
        `${range(lanesOfVector)
          .map(
            lane => `
        (local.set $r${lane} (v128.load offset=${16 * quarter} (i32.add ${get('at')}
          (i32.load offset=${entryOf(group, lane) + 4} (i32.const 0)))))`,
          )
          .join('')}${transpose(
          (i, column) => `(v128.store offset=${wordAt(group, 4 * quarter + i)} (i32.const 0) ${column})`,
        )}`,
    )
    .join('')

function step(group, number) {
  const round = number >> 4
  // The four words take turns in their roles.
  const [a, b, c, d] = range(4).map(i => `${'abcd'[(i + 64 - number) % 4]}${group}`)
  const shift = shifts[round][number % 4]
  const word = `(v128.load offset=${wordAt(group, wordOf[round](number))} (i32.const 0))`
  const constant = `(v128.const i32x4 ${range(4)
    .map(() => constants[number])
    .join(' ')})`
  return `
        (local.set $${a} ${add(add(get(a), add(constant, word)), mix[round](get(b), get(c), get(d)))})
        (local.set $${a} ${add(
          get(b),
          or(`(i32x4.shl ${get(a)} (i32.const ${shift}))`, `(i32x4.shr_u ${get(a)} (i32.const ${32 - shift}))`),
        )})`
}

function run(groupCount) {
  const groups = range(groupCount)
  const words = groups.flatMap(group => [...'abcd'].map(word => `${word}${group}`))
  const locals = [...words.flatMap(word => [word, `s${word}`]), ...range(4).flatMap(i => [`r${i}`, `t${i}`])]
  return `
  (func (export "run${groupCount * lanesOfVector}") (param $blocks i32) (local $at i32) (local $end i32)
      ${locals.map(name => `(local $${name} v128)`).join(' ')}
    (local.set $end (i32.mul ${get('blocks')} (i32.const ${blockBytes})))${groups.map(loadStates).join('')}
    (block $done (loop $next
        (br_if $done (i32.eq ${get('at')} ${get('end')}))${groups.map(loadBlocks).join('')}
        ${words.map(word => `(local.set $s${word} ${get(word)})`).join(' ')}${range(64)
          .flatMap(number => groups.map(group => step(group, number)))
          .join('')}
        ${words.map(word => `(local.set $${word} ${add(get(word), get(`s${word}`))})`).join('\n        ')}
        (local.set $at (i32.add ${get('at')} (i32.const ${blockBytes})))
        (br $next)))${groups.map(storeStates).join('')})`
}

/** The same of one message, whose words need not be rearranged. */
function runOne() {
  const word = name => `(local.get $${name})`
  const steps = range(64).map(number => {
    const round = number >> 4
    const [a, b, c, d] = range(4).map(i => word('abcd'[(i + 64 - number) % 4]))
    const target = 'abcd'[(64 - number) % 4]
    const at = `(i32.add (i32.const ${constants[number] | 0}) (i32.load offset=${4 * wordOf[round](number)} ${word('at')}))`
    const mixed = mix[round](b, c, d).replaceAll('v128.not', 'i32.xor (i32.const -1)').replaceAll('v128.', 'i32.')
    const sum = `(i32.add (i32.add ${a} ${at}) ${mixed})`
    return `
        (local.set $${target} (i32.add ${b} (i32.rotl ${sum} (i32.const ${shifts[round][number % 4]}))))`
  })
  const each = write =>
    range(4)
      .map(i => write('abcd'[i], i))
      .join(' ')
  return `
  (func (export "run1") (param $blocks i32) (local $at i32) (local $end i32) (local $state i32)
      ${each(name => `(local $${name} i32) (local $s${name} i32)`)}
    (local.set $state ${stateOf(0, 0)})
    (local.set $at (i32.load offset=4 (i32.const 0)))
    (local.set $end (i32.add ${word('at')} (i32.mul ${word('blocks')} (i32.const ${blockBytes}))))
    ${each((name, i) => `(local.set $${name} (i32.load offset=${4 * i} ${word('state')}))`)}
    (block $done (loop $next
        (br_if $done (i32.eq ${word('at')} ${word('end')}))
        ${each(name => `(local.set $s${name} ${word(name)})`)}${steps.join('')}
        ${each(name => `(local.set $${name} (i32.add ${word(name)} ${word(`s${name}`)}))`)}
        (local.set $at (i32.add ${word('at')} (i32.const ${blockBytes})))
        (br $next)))
    ${each((name, i) => `(i32.store offset=${4 * i} ${word('state')} ${word(name)})`)})`
}

export const moduleText = () => `(module
  (memory (export "memory") 1)
  (global (export "freeAt") i32 (i32.const ${layout.freeAt}))${runOne()}${range(groupsMax)
    .map(group => run(group + 1))
    .join('')})
`
