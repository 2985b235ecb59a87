import type { DistributionRefusal } from 'svc/plugins/distributions/api'

/** The reason why a request gets no object; answered by an error page. */
export class WebRefusal extends Error {
  readonly status: number
  /** The reason for log and audit; undefined if it is no refusal, such as a missing page. */
  readonly reason: string | undefined
  readonly headers: readonly (readonly [string, string])[]

  constructor(status: number, reason?: string, headers: WebRefusal['headers'] = []) {
    super(reason)
    this.status = status
    this.reason = reason
    this.headers = headers
  }
}

export function refusalOf({ status, reason, retryAfterSeconds }: DistributionRefusal): WebRefusal {
  const headers = retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)] as const]
  return new WebRefusal(status, reason, headers)
}
