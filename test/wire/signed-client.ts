/** A client with nothing in it but signatures, for tests that need many requests, or wrong ones. Bodies are not hashed. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Signer, signRequest } from 'svc/plugins/auth-sigv4/api'
import { accessKey, region, secretKey } from './server.ts'

export const root: Signer = { accessKey, secret: secretKey, region }

export interface Attempt {
  readonly method: string
  /** Percent-encoded. */
  readonly path: string
  /** Percent-encoded, without `?`. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Null sends the request without a signature. Default: root. */
  readonly signer?: Signer | null
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The code of the XML error; undefined where there is none, as in every answer to HEAD. */
  readonly code: string | undefined
}

export interface SignedClient {
  /** Resolves with any answer; rejects when there is none. */
  send(attempt: Attempt): Promise<Answer>
  /** Closes every connection. The client can be used again. */
  disconnect(): void
}

export function createSignedClient(port: number): SignedClient {
  const host = `127.0.0.1:${port}`
  let agent = new Agent({ keepAlive: true, maxSockets: 64 })

  function headersOf({ method, path, query, headers = {}, body = '', signer = root }: Attempt): Record<string, string> {
    const length = Buffer.byteLength(body)
    const all = length === 0 && method !== 'PUT' ? headers : { ...headers, 'content-length': String(length) }
    if (signer === null) return { ...all }
    const nowMs = Date.now()
    return {
      ...signRequest(signer, { method, host, path, query, headers: all, payload: 'UNSIGNED-PAYLOAD', nowMs }).headers,
    }
  }

  return {
    send: attempt =>
      new Promise((done, fail) => {
        const { method, path, query, body } = attempt
        const target = query === undefined || query === '' ? path : `${path}?${query}`
        const sent = request(
          { agent, host: '127.0.0.1', port, method, path: target, headers: headersOf(attempt) },
          answer => {
            buffer(answer).then(bytes => {
              const text = answer.headers['content-type'] === 'application/xml' ? bytes.toString() : ''
              const code = /<Error><Code>(\w+)<\/Code>/.exec(text)?.[1]
              done({ status: answer.statusCode!, headers: answer.headers, body: bytes, code })
            }, fail)
          },
        )
        sent.on('error', fail)
        sent.end(body)
      }),
    disconnect() {
      agent.destroy()
      agent = new Agent({ keepAlive: true, maxSockets: 64 })
    },
  }
}
