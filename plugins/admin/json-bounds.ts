/**
 * Bounds of JSON text that are found before it is parsed: a short text can have so many values that parsing it, and each walk over the
 * values, blocks the process for seconds.
 */

export interface JsonBounds {
  /** Elements of arrays and fields of objects, all together. An empty array or object may count twice. */
  readonly valuesMax: number
  /** Arrays and objects in each other. */
  readonly depthMax: number
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c

/**
 * The bound that the text exceeds; undefined if it keeps both. Reads the bytes once, and no further than to the excess. The text need not
 * be JSON: a parser finds that out.
 */
export function excessOf(bytes: Uint8Array, { valuesMax, depthMax }: JsonBounds): 'values' | 'depth' | undefined {
  let depth = 0
  let values = 1
  let isText = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]
    if (isText) {
      if (byte === backslash) index++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === comma) {
      if (++values > valuesMax) return 'values'
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > depthMax) return 'depth'
      if (++values > valuesMax) return 'values'
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return undefined
}
