/**
 * Texts of WebAssembly that was tried for checksums of blocks, and is slower than the addon in use: see block-checksums.ts. Each takes
 * bytes at an address of its memory.
 */

const range = count => [...Array(count).keys()]
const roundUp = size => Math.ceil(size / 64) * 64

/**
 * CRC-32 by sparse division, as crc64-nvme.wat.mjs does it and explains: first by a multiple of the polynomial with four terms, then by
 * one with five that are closer, and the last bytes by tables, which are for others to fill at 0.
 */
export function sparseCrc32Text({ windowBytes = 16_384, strideBytes = 128 } = {}) {
  const far = [1927, 2181, 4018]
  const near = [290, 366, 422, 600]
  const farReach = roundUp(Math.max(...far))
  const quotientAt = 8192 + farReach
  const remainderAt = quotientAt + windowBytes + farReach + 2 * strideBytes
  const loop = (name, distances, reach, until) => `
    (loop $${name}${range(strideBytes / 16)
      .map(
        vector => `
      (local.set $sum (v128.load offset=${16 * vector} (local.get $from)))${
        vector > 0 ? '' : '(local.set $sum (v128.xor (local.get $sum) (local.get $first)))'
      }${distances
        .map(
          distance =>
            `(local.set $sum (v128.xor (local.get $sum) (v128.load offset=${reach - distance + 16 * vector} (local.get $quotient))))`,
        )
        .join('')}
      (v128.store offset=${16 * vector} (local.get $to) (local.get $sum))`,
      )
      .join('')}
      (local.set $first (v128.const i32x4 0 0 0 0))
      (local.set $from (i32.add (local.get $from) (i32.const ${strideBytes})))
      (local.set $quotient (i32.add (local.get $quotient) (i32.const ${strideBytes})))
      (local.set $to (i32.add (local.get $to) (i32.const ${strideBytes})))
      (br_if $${name} (i32.lt_u (local.get $from) (local.get $${until}))))`
  const divide = (name, distances, next) => {
    const reach = roundUp(Math.max(...distances))
    return `
  (func $${name} (param $at i32) (param $size i32) (param $crc i32) (result i32)
    (local $from i32) (local $quotient i32) (local $to i32) (local $until i32) (local $cut i32) (local $end i32)
    (local $first v128) (local $sum v128)
    (if (i32.lt_u (local.get $size) (i32.const ${2 * reach}))
      (then (return (call $${next} (local.get $at) (local.get $size) (local.get $crc)))))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (local.set $cut (i32.add (local.get $at) (i32.and (i32.sub (local.get $size) (i32.const ${reach})) (i32.const ${-strideBytes}))))
    (local.set $first (i32x4.replace_lane 0 (v128.const i32x4 0 0 0 0) (local.get $crc)))
    (memory.fill (i32.const ${quotientAt - reach}) (i32.const 0) (i32.const ${reach}))
    (local.set $from (local.get $at))
    (loop $windows
      (local.set $quotient (i32.const ${quotientAt - reach}))
      (local.set $to (i32.const ${quotientAt}))
      (local.set $until (select (local.get $cut) (i32.add (local.get $from) (i32.const ${windowBytes}))
        (i32.lt_u (i32.sub (local.get $cut) (local.get $from)) (i32.const ${windowBytes}))))${loop('quotients', distances, reach, 'until')}
      (if (i32.lt_u (local.get $from) (local.get $cut)) (then
        (memory.copy (i32.const ${quotientAt - reach}) (i32.const ${quotientAt + windowBytes - reach}) (i32.const ${reach}))
        (br $windows))))
    (memory.fill (local.get $to) (i32.const 0) (i32.const ${reach + strideBytes}))
    (local.set $to (i32.const ${remainderAt}))${loop('remainders', distances, reach, 'end')}
    (call $${next} (i32.const ${remainderAt}) (i32.sub (local.get $end) (local.get $cut)) (i32.const 0)))`
  }
  const lookUp = (index, word) =>
    `(i32.load offset=${1024 * (7 - index)} (i32.shl (i32.and (i32.shr_u (local.get $${word}) (i32.const ${8 * (index % 4)})) (i32.const 255)) (i32.const 2)))`
  return `(module
  (memory (export "memory") 64 64)
  (func $tables (param $at i32) (param $size i32) (param $crc i32) (result i32)
    (local $end i32) (local $low i32) (local $high i32)
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (block $no_words (loop $words
      (br_if $no_words (i32.lt_u (i32.sub (local.get $end) (local.get $at)) (i32.const 8)))
      (local.set $low (i32.xor (local.get $crc) (i32.load (local.get $at))))
      (local.set $high (i32.load offset=4 (local.get $at)))
      (local.set $crc ${range(7).reduce(sum => `(i32.xor ${sum}`, '')}${lookUp(0, 'low')}
        ${range(7)
          .map(index => `${lookUp(index + 1, index < 3 ? 'low' : 'high')})`)
          .join('')})
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br $words)))
    (block $no_bytes (loop $bytes
      (br_if $no_bytes (i32.ge_u (local.get $at) (local.get $end)))
      (local.set $crc (i32.xor (i32.shr_u (local.get $crc) (i32.const 8)) (i32.load (i32.shl
        (i32.and (i32.xor (local.get $crc) (i32.load8_u (local.get $at))) (i32.const 255)) (i32.const 2)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $bytes)))
    (local.get $crc))${divide('near', near, 'tables')}${divide('far', far, 'near')}
  (func (export "update") (param $at i32) (param $size i32) (param $crc i32) (result i32)
    (i32.xor (i32.const -1) (call $far (local.get $at) (local.get $size) (i32.xor (i32.const -1) (local.get $crc))))))`
}

/** The inner loop of XXH3 for long inputs, without its end, and with any secret at 0: as fast as XXH3 could be at most. */
export function xxh3LoopText() {
  const stripe = number =>
    range(4)
      .map(
        lane => `
      (local.set $data (v128.load offset=${64 * number + 16 * lane} (local.get $at)))
      (local.set $keyed (v128.xor (local.get $data) (v128.load offset=${8 * number + 16 * lane} (i32.const 0))))
      (local.set $a${lane} (i64x2.add
        (i64x2.add (local.get $a${lane}) (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $data) (local.get $data)))
        (i64x2.extmul_low_i32x4_u
          (i8x16.shuffle 0 1 2 3 8 9 10 11 0 1 2 3 8 9 10 11 (local.get $keyed) (local.get $keyed))
          (i8x16.shuffle 4 5 6 7 12 13 14 15 4 5 6 7 12 13 14 15 (local.get $keyed) (local.get $keyed)))))`,
      )
      .join('')
  const scramble = range(4)
    .map(
      lane => `
      (local.set $a${lane} (i64x2.mul (v128.const i64x2 0x9e3779b1 0x9e3779b1) (v128.xor (v128.load offset=${128 + 16 * lane} (i32.const 0))
        (v128.xor (local.get $a${lane}) (i64x2.shr_u (local.get $a${lane}) (i32.const 47))))))`,
    )
    .join('')
  const sum = range(3).reduce((text, lane) => `(v128.xor ${text} (local.get $a${lane + 1}))`, '(local.get $a0)')
  return `(module
  (memory (export "memory") 64 64)
  (func (export "update") (param $at i32) (param $size i32) (result i64)
    (local $end i32) (local $data v128) (local $keyed v128) (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (loop $blocks${range(16).map(stripe).join('')}${scramble}
      (br_if $blocks (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1024))) (local.get $end))))
    (i64x2.extract_lane 0 ${sum})))`
}
