/** Request ids: 16 upper-case hexadecimal characters, unique without coordination, and cheap: one concatenation. */
import type { Random } from 'svc/kernel'

const lowValues = 4096
const lowDigits = Array.from({ length: lowValues }, (_, value) => value.toString(16).toUpperCase().padStart(3, '0'))

/**
 * A number of 13 digits that counts upwards from a random start, followed by a counter of 3 digits: two threads practically never create
 * the same id.
 */
export function createRequestIds(random: Random): () => string {
  let high = random.bytes(8).readBigUInt64BE() >> 12n
  let prefix = ''
  let low = lowValues
  return () => {
    if (low === lowValues) {
      high = (high + 1n) & 0xfffffffffffffn
      prefix = high.toString(16).toUpperCase().padStart(13, '0')
      low = 0
    }
    return prefix + lowDigits[low++]
  }
}
