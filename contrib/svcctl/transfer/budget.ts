/**
 * How much may be under way: a number of requests, and the bytes that they hold in memory. First come, first served. One request
 * larger than the whole budget waits until it is alone.
 */
export interface Lease {
  /** A buffer of the requested length; it contains bytes of its previous use. */
  readonly buffer: Buffer
  /** Once, when nothing reads the buffer any more. */
  release(): void
}

export interface Budget {
  readonly bytesMax: number
  acquire(byteCount: number): Promise<Lease>
}

interface Waiting {
  readonly byteCount: number
  readonly resolve: (lease: Lease) => void
}

/** Smaller ones are cheaper to make than to keep. */
const keptBytesMin = 1 << 20

export function createBudget(bytesMax: number, requestCountMax: number): Budget {
  let byteCount = 0
  let requestCount = 0
  const queue: Waiting[] = []
  const kept: Buffer[] = []

  function take(wanted: number): Lease {
    byteCount += wanted
    requestCount++
    const whole = wanted < keptBytesMin ? Buffer.allocUnsafe(wanted) : keptOrNew(wanted)
    return {
      buffer: whole.length === wanted ? whole : whole.subarray(0, wanted),
      release() {
        byteCount -= wanted
        requestCount--
        if (whole.length >= keptBytesMin) kept.push(whole)
        while (queue.length > 0 && fits(queue[0]!.byteCount)) {
          const next = queue.shift()!
          next.resolve(take(next.byteCount))
        }
      },
    }
  }

  /** Kept buffers count as memory too: one of another size is dropped before a new one is made. */
  function keptOrNew(wanted: number): Buffer {
    const found = kept.findIndex(buffer => buffer.length >= wanted && buffer.length <= 2 * wanted)
    if (found !== -1) return kept.splice(found, 1)[0]!
    kept.shift()
    return Buffer.allocUnsafeSlow(wanted)
  }

  const fits = (wanted: number): boolean =>
    requestCount === 0 || (requestCount < requestCountMax && byteCount + wanted <= bytesMax)

  return {
    bytesMax,
    acquire: wanted =>
      new Promise(resolve => {
        if (queue.length === 0 && fits(wanted)) resolve(take(wanted))
        else queue.push({ byteCount: wanted, resolve })
      }),
  }
}
