/**
 * HTTPS client for key servers with the same keys: one is used until it fails, then the next. A key server that does not answer in time or
 * answers 5xx has failed; one that refuses a request (4xx) has not, because the others would refuse it as well.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { kmsErrors } from 'svc/plugins/kms/api'

/** Bound of an answer; longer ones are errors. */
const answerBytesMax = 1024 * 1024
const socketsMax = 64

export interface Call {
  readonly method: string
  /** Below the path of the endpoint. */
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  /** Parsed JSON; undefined if the answer is not JSON. */
  readonly json: unknown
  readonly text: string
}

export interface KeyServersOptions {
  readonly endpoints: readonly string[]
  readonly clientCertificate?: string
  readonly clientKey?: string
  readonly authorities?: string
  readonly timeoutMs: number
}

export interface KeyServers {
  /** Throws `kms_unavailable` if no key server answers. */
  send(call: Call): Promise<Answer>
  /** Sends the call to each key server, and records which answer. */
  probe(call: Call, isFine: (answer: Answer) => boolean): Promise<void>
  status(): {
    readonly endpoints: readonly { readonly url: string; readonly online: boolean }[]
    readonly online: boolean
    readonly error: string
  }
  close(): void
}

/** Reads certificates and keys; throws if they cannot be read. */
export function createKeyServers(options: KeyServersOptions): KeyServers {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: socketsMax,
    minVersion: 'TLSv1.2',
    ca: options.authorities === undefined ? [...rootCertificates] : readAuthorities(options.authorities),
    cert: options.clientCertificate === undefined ? undefined : readFileSync(options.clientCertificate),
    key: options.clientKey === undefined ? undefined : readFileSync(options.clientKey),
  })
  // A key server counts as online until a call fails.
  const servers = options.endpoints.map(url => ({ url: url.replace(/\/+$/, ''), online: true, error: '' }))
  let preferred = 0

  const sendTo = (server: (typeof servers)[number], call: Call, isRepeated = false): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body))
      const sent = request(
        `${server.url}${call.path}`,
        {
          agent,
          method: call.method,
          signal: AbortSignal.timeout(options.timeoutMs),
          headers: {
            accept: 'application/json',
            ...(body === undefined
              ? { 'content-length': '0' }
              : { 'content-type': 'application/json', 'content-length': String(body.length) }),
            ...call.headers,
          },
        },
        answer => {
          const chunks: Buffer[] = []
          let sizeBytes = 0
          answer.on('data', (chunk: Buffer) => {
            sizeBytes += chunk.length
            if (sizeBytes > answerBytesMax) sent.destroy(new Error('the answer is too long'))
            else chunks.push(chunk)
          })
          answer.on('error', reject)
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString()
            resolve({ status: answer.statusCode!, text, json: parse(text) })
          })
        },
      )
      sent.on('error', (error: Error & { code?: string }) => {
        // The server has closed an idle connection: that is no failure, so retry once on a new one.
        if (!isRepeated && sent.reusedSocket && error.code === 'ECONNRESET')
          sendTo(server, call, true).then(resolve, reject)
        else reject(error)
      })
      sent.end(body)
    })

  const note = (server: (typeof servers)[number], error: string): void => {
    server.online = error === ''
    server.error = error
  }

  return {
    async send(call) {
      for (let i = 0; i < servers.length; i++) {
        const index = (preferred + i) % servers.length
        const server = servers[index]!
        try {
          const answer = await sendTo(server, call)
          if (answer.status < 500) {
            note(server, '')
            preferred = index
            return answer
          }
          note(server, `${server.url} answers ${answer.status}`)
        } catch (error) {
          note(server, `${server.url}: ${reasonOf(error)}`)
        }
      }
      throw kmsErrors.kms_unavailable(`No key server answers. ${servers.map(({ error }) => error).join('; ')}`)
    },

    async probe(call, isFine) {
      await Promise.all(
        servers.map(async server => {
          try {
            const answer = await sendTo(server, call)
            note(server, isFine(answer) ? '' : `${server.url} answers ${answer.status}`)
          } catch (error) {
            note(server, `${server.url}: ${reasonOf(error)}`)
          }
        }),
      )
    },

    status() {
      const endpoints = servers.map(({ url, online }) => ({ url, online }))
      const online = endpoints.some(endpoint => endpoint.online)
      return { endpoints, online, error: online ? '' : servers.map(({ error }) => error).join('; ') }
    },

    close: () => agent.destroy(),
  }
}

function readAuthorities(path: string): string[] {
  if (!statSync(path).isDirectory()) return [readFileSync(path, 'utf8')]
  const files = readdirSync(path).filter(name => /\.(pem|crt|cer)$/.test(name))
  if (files.length === 0) throw new Error(`${path} has no certificates (.pem, .crt, .cer)`)
  return files.map(name => readFileSync(join(path, name), 'utf8'))
}

/** The code or message of Node.js, which has no data of the request. */
function reasonOf(error: unknown): string {
  const { name, code, message } = error as Error & { code?: string }
  return name === 'TimeoutError' || name === 'AbortError' ? 'no answer in time' : (code ?? message)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
