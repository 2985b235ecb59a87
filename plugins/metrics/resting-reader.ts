/** Shorter readings are repeated at once: what they show is never old. */
const cheapMsMax = 10
/** Longer readings take at most this share of the time, however long one takes and however often somebody asks. */
const shareMax = 1 / 50

/**
 * For values that take a walk over all buckets: families that are collected together share a reading, and it is used until it has
 * rested for long enough.
 */
export function createRestingReader<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  const begin = async (): Promise<T> => {
    const startedMs = performance.now()
    try {
      return await read()
    } finally {
      const tookMs = performance.now() - startedMs
      const forget = () => {
        reading = undefined
      }
      if (tookMs <= cheapMsMax) setImmediate(forget)
      else setTimeout(forget, tookMs / shareMax).unref()
    }
  }
  return () => {
    reading ??= begin()
    return reading
  }
}
