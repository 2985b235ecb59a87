/** One attempt to reach a destination, for targets whose client library knows no deadline: it ends in time whatever the library waits for. */

export interface Attempts {
  /**
   * Settles as `work` does; earlier, with an error that says why, after `timeoutMs`, when `signal` is aborted, and at `close`. What
   * `work` was given is aborted then, and it closes what it had opened.
   */
  run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends what is under way; nothing begins afterwards. Idempotent. */
  close(): void
}

/**
 * `service` begins the sentence: `PostgreSQL` did not answer within 5000 ms. `load` brings the client library of a target that is used for
 * the first time; the time of an attempt begins when it is there, because a service does not answer later for it.
 */
export function createAttempts(service: string, timeoutMs: number, load?: () => Promise<unknown>): Attempts {
  const underWay = new Set<(reason: Error) => void>()
  let isClosed = false
  const closed = () => new Error('The target was closed.')
  return {
    async run(signal, work) {
      await load?.()
      if (isClosed) throw closed()
      if (signal.aborted) throw new Error('The attempt was given up before it began.')
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

/** What went wrong, in the words of the client library, without any of the secrets: those of errors are not ours to trust. */
export function reasonOf(error: unknown, secrets: readonly string[] = []): string {
  // Of a name with several addresses, each has failed, and the error of all of them says nothing itself.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const { message, code } = Object(first) as { message?: unknown; code?: unknown }
  let reason = String(message || code || 'it did not say why')
  for (const secret of secrets) {
    if (secret === '') continue
    reason = reason.replaceAll(secret, '*****').replaceAll(encodeURIComponent(secret), '*****')
  }
  return reason
}
