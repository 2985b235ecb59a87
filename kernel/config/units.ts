/** Sizes and durations as people write them. Exact: a value that is no whole number of bytes or milliseconds is refused. */

const SIZE_UNITS: Readonly<Record<string, bigint>> = {
  '': 1n,
  B: 1n,
  KB: 1000n,
  MB: 1000n ** 2n,
  GB: 1000n ** 3n,
  TB: 1000n ** 4n,
  KiB: 1024n,
  MiB: 1024n ** 2n,
  GiB: 1024n ** 3n,
  TiB: 1024n ** 4n,
}

const DURATION_UNITS: Readonly<Record<string, bigint>> = {
  '': 1n,
  ms: 1n,
  s: 1000n,
  m: 60_000n,
  h: 3_600_000n,
  d: 86_400_000n,
}

/** Bytes of `64MiB`, `1.5GB`, `4096`. Throws RangeError with a sentence that names the allowed forms. */
export function parseSize(text: string): number {
  return parseQuantity(text, SIZE_UNITS, 'a size', 'bytes', 'B, KB, MB, GB, TB, KiB, MiB, GiB or TiB')
}

/** Milliseconds of `500ms`, `5s`, `10m`, `1h`, `7d`, `250`. Throws RangeError with a sentence that names the allowed forms. */
export function parseDuration(text: string): number {
  return parseQuantity(text, DURATION_UNITS, 'a duration', 'milliseconds', 'ms, s, m, h or d')
}

/** The shortest exact spelling with a binary unit: 1048576 is `1MiB`, 1000 is `1000`. Parses back to the same number. */
export function formatSize(bytes: number): string {
  return formatQuantity(bytes, ['TiB', 'GiB', 'MiB', 'KiB'], SIZE_UNITS, '')
}

/** The shortest exact spelling: 90000 is `90s`, 3600000 is `1h`. Parses back to the same number. */
export function formatDuration(milliseconds: number): string {
  return formatQuantity(milliseconds, ['d', 'h', 'm', 's'], DURATION_UNITS, 'ms')
}

function parseQuantity(
  text: string,
  units: Readonly<Record<string, bigint>>,
  what: string,
  base: string,
  names: string,
) {
  const match = /^(\d{1,16})(?:\.(\d{1,9}))?(?: ?([A-Za-z]+))?$/.exec(text)
  const factor = match && Object.hasOwn(units, match[3] ?? '') ? units[match[3] ?? ''] : undefined
  if (!match || factor === undefined) {
    throw new RangeError(`is not ${what}: write a number with ${names}, or a plain number of ${base}`)
  }
  // Integers all the way: 0.1 has no exact binary fraction, and 0.1 KB is exactly 100 bytes.
  const fraction = match[2] ?? ''
  const scale = 10n ** BigInt(fraction.length)
  const scaled = BigInt(match[1] + fraction) * factor
  if (scaled % scale !== 0n) throw new RangeError(`is not a whole number of ${base}`)
  const value = scaled / scale
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`is larger than ${Number.MAX_SAFE_INTEGER} ${base}`)
  return Number(value)
}

function formatQuantity(
  value: number,
  order: readonly string[],
  units: Readonly<Record<string, bigint>>,
  base: string,
) {
  if (value === 0) return `0${base}`
  const name = order.find(unit => BigInt(value) % units[unit] === 0n)
  return name === undefined ? `${value}${base}` : `${BigInt(value) / units[name]}${name}`
}
