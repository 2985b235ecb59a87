/**
 * The WebAssembly text of CRC-64/NVME; `npm run build:wasm` makes crc64-nvme.wat and crc64-nvme.wasm of it.
 *
 * A table look-up for each byte is what makes a CRC slow, so most bytes get none. The remainder of a message modulo P, the
 * polynomial of the CRC, is not changed by first taking the remainder modulo a multiple of P, and there is a multiple with nine
 * terms only, all of them powers of x^8:
 *
 *     x^(8·1891) · (1 + Σ x^(-8·d)), d one of `distances`
 *
 * To divide by it is to add bytes to bytes: quotient[i] = message[i] + Σ quotient[i - d], where + is exclusive or and what lies
 * before the beginning is zero. No distance is shorter than a turn of the loop, so vectors do it for 64 bytes at once. The last
 * 1891 bytes (`reach`) take what the quotient adds to them; they are the remainder, of which tables make the CRC, eight bytes at
 * a time. The crc64-nvme test computes the sum of the nine terms modulo P.
 *
 * The distances are from a search for eight numbers from 512 to 1911 with Σ x^(-8·d) = 1 modulo P: the sums of two of them all
 * are sorted by their low bits, to find sums of four that agree in those, and among these two whose sum is 1. The lower
 * bound keeps what is loaded away from what was stored just before, which processors are slow at where the two overlap.
 */
export const distances = [687, 691, 833, 1079, 1444, 1752, 1819, 1891]
const reach = Math.max(...distances)

/**
 * Where things are in the memory: the tables, for others to fill, at 0; the message, for others to write, at `messageAt`, of
 * which the module exports the place and the most bytes at a time.
 */
const layout = placeAll()

function placeAll() {
  const windowBytes = 65_536
  const tableBytes = 8 * 256 * 8
  const strideBytes = 64
  const reachBytes = Math.ceil(reach / strideBytes) * strideBytes
  // The zeros before the quotient, the quotient, and what is cleared behind it.
  const quotientAt = tableBytes + reachBytes
  const messageAt = quotientAt + windowBytes + reachBytes
  const endAt = messageAt + windowBytes + strideBytes
  return { windowBytes, strideBytes, reachBytes, quotientAt, messageAt, pages: Math.ceil(endAt / 65_536) }
}

const range = count => [...Array(count).keys()]

/**
 * One turn: 64 bytes. `base` is the position in the quotient less `reach`, because addresses cannot have negative offsets.
 * `offset` says where the sums go: 0 for the quotient, the distance to the message for the remainder.
 */
function turn(offset) {
  const toMessage = layout.messageAt - layout.quotientAt + reach
  return range(layout.strideBytes / 16)
    .map(vector => {
      const at = 16 * vector
      const additions = distances.map(
        distance => `
          (local.set $sum (v128.xor (local.get $sum) (v128.load offset=${reach - distance + at} (local.get $base))))`,
      )
      return `
          (local.set $sum (v128.load offset=${toMessage + at} (local.get $base)))${additions.join('')}
          (v128.store offset=${offset + reach + at} (local.get $base) (local.get $sum))`
    })
    .join('')
}

const loop = (name, offset) => `
        (loop $${name}${turn(offset)}
          (br_if $${name} (i32.lt_u
            (local.tee $base (i32.add (local.get $base) (i32.const ${layout.strideBytes})))
            (local.get $until))))`

/** Table k: what a byte becomes that is followed by k more. */
const lookUp = index =>
  `(i64.load offset=${2048 * (7 - index)} (i32.shl (i32.and (i32.wrap_i64 (i64.shr_u (local.get $crc) (i64.const ${8 * index}))) (i32.const 255)) (i32.const 3)))`

export function moduleText() {
  const { windowBytes, strideBytes, reachBytes, quotientAt, messageAt, pages } = layout
  const offset = messageAt - quotientAt
  return `;; Written by crc64-nvme.wat.mjs, which says what it does: npm run build:wasm
(module
  (memory (export "memory") ${pages} ${pages})
  (global (export "windowAt") i32 (i32.const ${messageAt}))
  (global (export "windowBytes") i32 (i32.const ${windowBytes}))
  (func (export "update") (param $size i32) (param $crc i64) (result i64)
    (local $at i32) (local $end i32) (local $base i32) (local $until i32) (local $sum v128)
    (local.set $at (i32.const ${messageAt}))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.ge_u (local.get $size) (i32.const ${reachBytes + 4 * strideBytes}))
      (then
        (i64.store (local.get $at) (i64.xor (i64.load (local.get $at)) (local.get $crc)))
        (local.set $crc (i64.const 0))
        (local.set $base (i32.const ${quotientAt - reach}))
        (local.set $until (i32.add
          (local.get $base)
          (i32.and (i32.sub (local.get $size) (i32.const ${reach})) (i32.const ${-strideBytes}))))${loop('quotient', 0)}
        (local.set $at (i32.add (local.get $base) (i32.const ${offset + reach})))
        (memory.fill (i32.add (local.get $base) (i32.const ${reach})) (i32.const 0) (i32.const ${reachBytes}))
        (local.set $until (i32.add (local.get $base) (i32.const ${reachBytes})))${loop('remainder', offset)}))
    (block $no_words
      (loop $words
        (br_if $no_words (i32.lt_u (i32.sub (local.get $end) (local.get $at)) (i32.const 8)))
        (local.set $crc (i64.xor (local.get $crc) (i64.load (local.get $at))))
        (local.set $crc ${range(7).reduce(sum => `(i64.xor ${sum}`, '')}
          ${lookUp(0)}
          ${range(7)
            .map(index => `${lookUp(index + 1)})`)
            .join('\n          ')})
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $words)))
    (block $no_bytes
      (loop $bytes
        (br_if $no_bytes (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $crc (i64.xor
          (i64.shr_u (local.get $crc) (i64.const 8))
          (i64.load (i32.shl
            (i32.and (i32.xor (i32.wrap_i64 (local.get $crc)) (i32.load8_u (local.get $at))) (i32.const 255))
            (i32.const 3)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $bytes)))
    (local.get $crc)))
`
}
