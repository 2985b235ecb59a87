/** Random identifiers, from randomness that is taken for many at once. */
import type { Random } from 'svc/kernel'
import type { SpanIds } from './span.ts'

const pooledBytes = 4096

export function createSpanIds(random: Random): SpanIds {
  let pool: Buffer = Buffer.alloc(0)
  let at = 0
  const take = (size: number): Uint8Array => {
    for (;;) {
      if (at + size > pool.length) {
        pool = random.bytes(pooledBytes)
        at = 0
      }
      const id = pool.subarray(at, at + size)
      at += size
      // All zero means none.
      if (id.some(byte => byte !== 0)) return id
    }
  }
  return { traceId: () => take(16), spanId: () => take(8) }
}
