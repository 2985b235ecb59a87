/** A deadline for attempts of targets whose client library has none. */

export interface Attempts {
  /**
   * Settles as `work` does, or rejects earlier with the reason: after `timeoutMs`, when `signal` is aborted, and at `close`. Then the
   * signal of `work` is aborted, and `work` closes its connections.
   */
  run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends attempts under way; starts no others. Idempotent. */
  close(): void
}

/**
 * `service` begins the sentence: `PostgreSQL` did not answer within 5000 ms. `load` loads the client library when the target is first used;
 * the time of an attempt starts after it.
 */
export function createAttempts(service: string, timeoutMs: number, load?: () => Promise<unknown>): Attempts {
  const underWay = new Set<(reason: Error) => void>()
  let isClosed = false
  const closed = () => new Error('The target was closed.')
  return {
    async run(signal, work) {
      await load?.()
      if (isClosed) throw closed()
      if (signal.aborted) throw new Error('The attempt was ended before it began.')
      return new Promise((resolve, reject) => {
        const controller = new AbortController()
        const settle = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', giveUp)
          underWay.delete(end)
        }
        const end = (reason: Error) => {
          settle()
          reject(reason)
          controller.abort(reason)
        }
        const giveUp = () => end(new Error(`${service} did not answer in time.`))
        const timer = setTimeout(() => end(new Error(`${service} did not answer within ${timeoutMs} ms.`)), timeoutMs)
        signal.addEventListener('abort', giveUp, { once: true })
        underWay.add(end)
        work(controller.signal).then(
          value => {
            settle()
            resolve(value)
          },
          error => {
            settle()
            reject(error)
          },
        )
      })
    },
    close() {
      isClosed = true
      for (const end of [...underWay]) end(closed())
    },
  }
}

/** The message of an error of a client library, without the secrets that it may repeat. */
export function reasonOf(error: unknown, secrets: readonly string[] = []): string {
  // The error of a name with several addresses has no message of its own.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const { message, code } = Object(first) as { message?: unknown; code?: unknown }
  let reason = String(message || code || 'it did not say why')
  for (const secret of secrets) {
    if (secret === '') continue
    reason = reason.replaceAll(secret, '*****').replaceAll(encodeURIComponent(secret), '*****')
  }
  return reason
}
