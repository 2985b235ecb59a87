/**
 * `address`: it may not be connected to. `unreachable`: no connection. `tls`: no trust, or no files of ours. `timeout`. `aborted`: by the
 * caller. `answer`: it is none, or too long. `closed`: the client is.
 */
export type HttpClientErrorReason = 'address' | 'unreachable' | 'tls' | 'timeout' | 'aborted' | 'answer' | 'closed'

/** A request that got no answer. The message is a sentence for operators without anything of the request but its host. */
export class HttpClientError extends Error {
  readonly reason: HttpClientErrorReason

  constructor(reason: HttpClientErrorReason, message: string) {
    super(message)
    this.name = 'HttpClientError'
    this.reason = reason
  }
}
