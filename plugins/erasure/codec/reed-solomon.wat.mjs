/**
 * The WebAssembly text of the codec's kernels; `npm run build:wasm` makes reed-solomon.wat, reed-solomon.wasm and
 * reed-solomon-relaxed.wasm of it. The kernels differ only in how many outputs they compute at once, which is why they are
 * written by a program: a loop over the outputs inside of the kernel would keep the sums in memory instead of registers.
 *
 * A kernel computes, for each position of the range, output j = Σ coefficient(i, j) · input i over GF(2⁸). It reads each
 * input once for all its outputs. A product is two table look-ups: of the low and of the high half of each byte.
 *
 *     inputs    address of `count` u32: where each input begins
 *     plain     1: the first input has the coefficient 1 in every output, so it is copied and not multiplied; else 0
 *     outputs   address of a u32 for each output: where it begins
 *     tables    for each input, for each output that is multiplied: 16 bytes c·x and 16 bytes c·(x·16), for x of 0…15
 *     start…end bytes of the inputs and outputs; at least `strideBytes` of the kernel. What is left at the end is done by
 *               going back so that the last stride ends at the end: an output is never read, so doing a part twice is harmless
 *
 * A kernel named `sumProducts…` has an additional first output, whose coefficients are all 1.
 */

/** Vectors of 16 bytes per turn, by number of outputs: what x86-64 has registers for, by measurement. */
const vectorCounts = [0, 4, 3, 2, 2]

const kernels = [
  { hasSum: true, productCount: 0 },
  { hasSum: true, productCount: 1 },
  { hasSum: true, productCount: 2 },
  { hasSum: true, productCount: 3 },
  { hasSum: false, productCount: 1 },
  { hasSum: false, productCount: 2 },
  { hasSum: false, productCount: 3 },
  { hasSum: false, productCount: 4 },
]

const range = count => [...Array(count).keys()]
/** Lines for each item, each indented as the first one. */
const each = (items, indent, line) => items.map(line).join(`\n${' '.repeat(indent)}`)

function kernel({ hasSum, productCount }, swizzle) {
  const first = hasSum ? 1 : 0
  const outputs = range(first + productCount)
  const vectors = range(vectorCounts[outputs.length])
  const strideBytes = vectors.length * 16
  const sums = outputs.flatMap(output => vectors.map(vector => ({ output, vector })))
  const load = each(
    vectors,
    10,
    vector => `(local.set $low${vector} (v128.load offset=${16 * vector} (local.get $at)))`,
  )
  const address = '(local.set $at (i32.add (i32.load (local.get $input)) (local.get $position)))'
  const advance = `(local.set $table (i32.add (local.get $table) (i32.const ${32 * productCount})))`
  const sum = vector => `
          (local.set $sum0_${vector} (v128.xor (local.get $sum0_${vector}) (local.get $low${vector})))`
  const halves = vector => `
          (local.set $high${vector} (v128.and (i64x2.shr_u (local.get $low${vector}) (i32.const 4)) (local.get $half)))
          (local.set $low${vector} (v128.and (local.get $low${vector}) (local.get $half)))`
  // One table at a time: both at once would push sums out of the registers.
  const lookUp = (index, half, offset) => `
          (local.set $products (v128.load offset=${32 * index + offset} (local.get $table)))${vectors
            .map(vector => {
              const name = `$sum${first + index}_${vector}`
              return `
          (local.set ${name} (v128.xor (local.get ${name}) (${swizzle} (local.get $products) (local.get ${half}${vector}))))`
            })
            .join('')}`
  const product = index => lookUp(index, '$low', 0) + lookUp(index, '$high', 16)
  return `
  (func (export "${hasSum ? 'sumP' : 'p'}roducts${productCount}")
      (param $inputs i32) (param $count i32) (param $plain i32) (param $outputs i32) (param $tables i32)
      (param $start i32) (param $end i32)
    (local $input i32) (local $inputs_end i32) (local $table i32) (local $at i32) (local $position i32) (local $last i32)
    (local $half v128) (local $products v128)
    ${each(vectors, 4, vector => `(local $low${vector} v128) (local $high${vector} v128)`)}
    ${each(outputs, 4, output => `(local $output${output} i32)`)}
    ${each(sums, 4, ({ output, vector }) => `(local $sum${output}_${vector} v128)`)}
    (local.set $half (i8x16.splat (i32.const 15)))
    (local.set $inputs_end (i32.add (local.get $inputs) (i32.shl (local.get $count) (i32.const 2))))
    ${each(outputs, 4, output => `(local.set $output${output} (i32.load offset=${4 * output} (local.get $outputs)))`)}
    (local.set $position (local.get $start))
    (local.set $last (i32.sub (local.get $end) (i32.const ${strideBytes})))
    (loop $positions
      (local.set $input (local.get $inputs))
      (local.set $table (local.get $tables))
      (if (local.get $plain)
        (then
          ${address}
          ${load}
          ${each(sums, 10, ({ output, vector }) => `(local.set $sum${output}_${vector} (local.get $low${vector}))`)}
          (local.set $input (i32.add (local.get $input) (i32.const 4)))
          ${advance})
        (else
          ${each(sums, 10, ({ output, vector }) => `(local.set $sum${output}_${vector} (v128.const i64x2 0 0))`)}))
      (if (i32.lt_u (local.get $input) (local.get $inputs_end)) (then
        (loop $each_input
          ${address}
          ${load}${hasSum ? vectors.map(sum).join('') : ''}${productCount > 0 ? vectors.map(halves).join('') : ''}${range(
            productCount,
          )
            .map(product)
            .join('')}
          ${advance}
          (br_if $each_input (i32.lt_u
            (local.tee $input (i32.add (local.get $input) (i32.const 4)))
            (local.get $inputs_end))))))
      ${each(
        sums,
        6,
        ({ output, vector }) =>
          `(v128.store offset=${16 * vector} (i32.add (local.get $output${output}) (local.get $position)) (local.get $sum${output}_${vector}))`,
      )}
      (local.set $at (i32.add (local.get $position) (i32.const ${strideBytes})))
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (local.set $position (select (local.get $at) (local.get $last) (i32.le_u (local.get $at) (local.get $last))))
        (br $positions)))))`
}

/**
 * `relaxed`: with i8x16.relaxed_swizzle, which is one instruction of x86-64 where i8x16.swizzle is two. They differ for indices
 * above 15 only, and there are none.
 */
export function moduleText({ relaxed }) {
  const swizzle = relaxed ? 'i8x16.relaxed_swizzle' : 'i8x16.swizzle'
  const text = `;; Written by reed-solomon.wat.mjs, which says what it does: npm run build:wasm
(module
  (import "codec" "memory" (memory 1 65536))${kernels.map(each => `\n${kernel(each, swizzle)}`).join('')})
`
  return text.replace(/^ +\n/gm, '')
}
