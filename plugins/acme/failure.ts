/** Why an order does not go on. */
import { HttpClientError } from 'svc/plugins/http-client/api'

export interface FailedName {
  readonly domain: string
  readonly step: string
  readonly error: string
}

export interface OrderFailureOptions extends ErrorOptions {
  /** The authority was busy or could not be reached: the same request may succeed soon, and the order continues at its current step. */
  readonly isTransient?: boolean
  /** The delay that the authority asked for. */
  readonly retryAfterMs?: number
  readonly failedNames?: readonly FailedName[]
  /** The type of the problem document (RFC 8555, 6.7): the last part of its URN. */
  readonly type?: string
  readonly status?: number
}

/** The message is a sentence for operators: the authority's own words where it has spoken. */
export class OrderFailure extends Error {
  readonly isTransient: boolean
  readonly retryAfterMs: number
  readonly failedNames: readonly FailedName[]
  readonly type: string
  readonly status: number

  constructor(message: string, options: OrderFailureOptions = {}) {
    super(message, options)
    this.name = 'OrderFailure'
    this.isTransient = options.isTransient ?? false
    this.retryAfterMs = options.retryAfterMs ?? 0
    this.failedNames = options.failedNames ?? []
    this.type = options.type ?? ''
    this.status = options.status ?? 0
  }
}

export function failureOf(error: unknown): OrderFailure {
  if (error instanceof OrderFailure) return error
  if (error instanceof HttpClientError) {
    const hint = error.message.endsWith('not trusted') ? '; give its CA in SVC_ACME_CA_CERT' : ''
    const words = `The authority could not be asked: ${error.message}${hint}.`
    return new OrderFailure(words, { cause: error, isTransient: true })
  }
  return new OrderFailure(`${(error as Error).message}`, { cause: error })
}
