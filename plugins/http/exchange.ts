/** One request and its answer: implements `Exchange`. Facts that few handlers need (client address, host) are computed on demand. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Exchange, ListenerName } from './api.ts'
import type { Connection } from './connection.ts'
import { type ForwardedFacts, nothingForwarded, type Proxies } from './proxies.ts'
import type { HttpResponse } from './response.ts'

/** First `starting`, at the end `draining`; in between both are false and requests are served. */
export interface ListenerState {
  starting: boolean
  draining: boolean
}

/** Shared by all exchanges of a listener. */
export interface ExchangeEnvironment {
  readonly listener: ListenerName
  readonly proxies: Proxies
  readonly state: ListenerState
}

export class HttpExchange implements Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly startedNs: bigint
  readonly #connection: Connection
  readonly #environment: ExchangeEnvironment
  #forwarded: ForwardedFacts | undefined
  #awaitsContinue: boolean

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    startedNs: bigint,
    connection: Connection,
    environment: ExchangeEnvironment,
    awaitsContinue: boolean,
  ) {
    this.request = request
    this.response = response
    this.requestId = requestId
    this.startedNs = startedNs
    this.#connection = connection
    this.#environment = environment
    this.#forwarded = connection.peerTrusted ? undefined : nothingForwarded
    this.#awaitsContinue = awaitsContinue
  }

  set operation(name: string) {
    ;(this.response as HttpResponse).operation = name
  }

  get operation(): string {
    return (this.response as HttpResponse).operation
  }

  get listener(): ListenerName {
    return this.#environment.listener
  }

  get starting(): boolean {
    return this.#environment.state.starting
  }

  get draining(): boolean {
    return this.#environment.state.draining
  }

  get clientAddress(): string {
    return this.#facts().address ?? this.#connection.peerAddress
  }

  get secure(): boolean {
    return this.#facts().secure ?? this.#connection.secure
  }

  get host(): string {
    const { headers } = this.request
    const named = headers.host ?? (headers[':authority'] as string | undefined)
    return this.#facts().host ?? (named === undefined ? '' : named.toLowerCase())
  }

  /** True while the client waits for `100 Continue` before it sends its body. */
  get awaitsContinue(): boolean {
    return this.#awaitsContinue
  }

  continue(): void {
    if (!this.#awaitsContinue) return
    this.#awaitsContinue = false
    if (!this.response.headersSent && !this.response.destroyed) this.response.writeContinue()
  }

  #facts(): ForwardedFacts {
    this.#forwarded ??= this.#environment.proxies.read(this.request.headers)
    return this.#forwarded
  }
}
