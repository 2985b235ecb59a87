/** Parses sizes and durations exactly: a value that is not a whole number of bytes or milliseconds is refused. */

const sizeUnits: Readonly<Record<string, bigint>> = {
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

const durationUnits: Readonly<Record<string, bigint>> = {
  '': 1n,
  ms: 1n,
  s: 1000n,
  m: 60_000n,
  h: 3_600_000n,
  d: 86_400_000n,
}

/** The bytes of `64MiB`, `1.5GB` or `4096`. Throws RangeError with a sentence that names the allowed forms. */
export function parseSize(text: string): number {
  return parseQuantity(text, sizeUnits, 'a size', 'bytes', 'B, KB, MB, GB, TB, KiB, MiB, GiB or TiB')
}

/** The milliseconds of `500ms`, `5s`, `10m`, `1h`, `7d` or `250`. Throws RangeError with a sentence that names the allowed forms. */
export function parseDuration(text: string): number {
  return parseQuantity(text, durationUnits, 'a duration', 'milliseconds', 'ms, s, m, h or d')
}

function parseQuantity(
  text: string,
  units: Readonly<Record<string, bigint>>,
  kind: string,
  baseUnit: string,
  unitNames: string,
): number {
  const match = /^(\d{1,16})(?:\.(\d{1,9}))?(?: ?([A-Za-z]+))?$/.exec(text)
  const factor = match && Object.hasOwn(units, match[3] ?? '') ? units[match[3] ?? ''] : undefined
  if (!match || factor === undefined) {
    throw new RangeError(`is not ${kind}: write a number with ${unitNames}, or a plain number of ${baseUnit}`)
  }
  // Integer arithmetic: 0.1 has no exact binary fraction, but 0.1 KB is exactly 100 bytes.
  const fraction = match[2] ?? ''
  const scale = 10n ** BigInt(fraction.length)
  const scaled = BigInt(match[1] + fraction) * factor
  if (scaled % scale !== 0n) throw new RangeError(`is not a whole number of ${baseUnit}`)
  const value = scaled / scale
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`is larger than ${Number.MAX_SAFE_INTEGER} ${baseUnit}`)
  }
  return Number(value)
}
