/** Why a call did not succeed. */

export interface CallFailureOptions extends ErrorOptions {
  /** The same call would fail again, so it is given up. By default it is tried again. */
  readonly isPermanent?: boolean
  /** The delay that the cache in front asked for. */
  readonly retryAfterMs?: number
  /** The call has more items than the cache in front takes. */
  readonly isTooLarge?: boolean
  readonly status?: number
}

/** The message is a sentence for operators, without secrets. */
export class CallFailure extends Error {
  readonly isPermanent: boolean
  readonly retryAfterMs: number
  readonly isTooLarge: boolean
  readonly status: number

  constructor(message: string, options: CallFailureOptions = {}) {
    super(message, options)
    this.name = 'CallFailure'
    this.isPermanent = options.isPermanent ?? false
    this.retryAfterMs = options.retryAfterMs ?? 0
    this.isTooLarge = options.isTooLarge ?? false
    this.status = options.status ?? 0
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

const retryAfterMsMax = 3_600_000
/** Client errors that may pass; after any other one a repetition would fail alike. */
const passingStatuses: ReadonlySet<number> = new Set([408, 413, 425, 429])

/** The failure that an answer tells; undefined for 2xx. `words` of the cache in front, without secrets. */
export function failureOf(
  host: string,
  { status, headers }: Answer,
  nowMs: number,
  words = '',
): CallFailure | undefined {
  if (status >= 200 && status < 300) return undefined
  const said = `${host} answers ${status}${words === '' ? '' : `: ${words.slice(0, 200)}`}`
  if (status >= 300 && status < 400)
    return new CallFailure(`${said}, a redirect, which is not followed`, { status, isPermanent: true })
  return new CallFailure(said, {
    status,
    isPermanent: status < 500 && !passingStatuses.has(status),
    isTooLarge: status === 413,
    retryAfterMs: retryAfterOf(headers['retry-after'], nowMs),
  })
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfterOf(header: string | string[] | undefined, nowMs: number): number {
  const text = String(header ?? '')
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), retryAfterMsMax)
}
