/**
 * A client that remembers what the server has acknowledged, so that it can say at any time whether all of that is still there, byte for byte.
 * For long loads and for drives that are full: there a wrong answer matters more than a rate.
 */
import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request as sendRequest } from 'node:http'
import { createSigner, type RequestSigner } from './signature.ts'
import type { Endpoint } from './targets.ts'

const MIB = 2 ** 20
const NOISE_BYTES = 8 * MIB
/** Signatures bear the time at which their signer was made. */
const SIGNER_AGE_MS_MAX = 60_000
const TIMEOUT_MS = 60_000

export type Method = 'GET' | 'PUT' | 'DELETE'

export interface Answer {
  readonly status: number
  /** The S3 error that was answered; empty for a success. */
  readonly code: string
  /** Of the body of the object, sent or received. */
  readonly bytes: number
}

/** Where in the noise the body of an object begins, and how long it is. */
interface Body {
  readonly start: number
  readonly size: number
}

export class CheckedClient {
  readonly #endpoint: Endpoint
  readonly #bucket: string
  readonly #agent = new Agent({ keepAlive: true })
  /** Every body is a piece of it, so that what was stored needs not be kept. */
  readonly #noise = randomBytes(2 * NOISE_BYTES)
  readonly #stored = new Map<number, Body>()
  #signer: RequestSigner | undefined
  #signedAtMs = 0

  constructor(endpoint: Endpoint, bucket: string) {
    this.#endpoint = endpoint
    this.#bucket = bucket
  }

  get storedCount(): number {
    return this.#stored.size
  }

  get storedBytes(): number {
    let bytes = 0
    for (const { size } of this.#stored.values()) bytes += size
    return bytes
  }

  get keys(): readonly number[] {
    return [...this.#stored.keys()]
  }

  has(key: number): boolean {
    return this.#stored.has(key)
  }

  /** A client of another server with the same drives, that expects the same objects. */
  movedTo(endpoint: Endpoint): CheckedClient {
    const moved = new CheckedClient(endpoint, this.#bucket)
    this.#noise.copy(moved.#noise)
    for (const [key, body] of this.#stored) moved.#stored.set(key, body)
    this.close()
    return moved
  }

  /** Nothing else may be under way for this key. A refusal is an answer; what was refused must not have changed the object. */
  async put(key: number, size: number): Promise<Answer> {
    const body = { start: Math.floor(Math.random() * NOISE_BYTES), size }
    const answer = await this.#send('PUT', key, this.#bytesOf(body))
    if (answer.status === 200) this.#stored.set(key, body)
    return { status: answer.status, code: answer.code, bytes: size }
  }

  async delete(key: number): Promise<Answer> {
    const { status, code } = await this.#send('DELETE', key)
    if (status === 204) this.#stored.delete(key)
    return { status, code, bytes: 0 }
  }

  /** Throws where the object is not what was acknowledged, or is there although it was deleted. */
  async get(key: number): Promise<Answer> {
    const expected = this.#stored.get(key)
    const { status, code, body } = await this.#send('GET', key)
    if (expected === undefined) {
      if (status !== 404) throw new Error(`Object ${key} was deleted, and was answered ${status}.`)
    } else if (status !== 200) {
      throw new Error(`Object ${key} was acknowledged, and was answered ${status} ${code}.`)
    } else if (!body.equals(this.#bytesOf(expected))) {
      throw new Error(
        `Object ${key} has ${body.length} bytes that are not the ${expected.size} that were acknowledged.`,
      )
    }
    return { status, code, bytes: status === 200 ? body.length : 0 }
  }

  /** Reads all that was acknowledged, eight at a time. */
  async verify(keys: Iterable<number> = this.keys): Promise<number> {
    const waiting = [...keys]
    const count = waiting.length
    const readNext = async (): Promise<void> => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) await this.get(key)
    }
    await Promise.all(Array.from({ length: 8 }, readNext))
    return count
  }

  close(): void {
    this.#agent.destroy()
  }

  #bytesOf({ start, size }: Body): Buffer {
    return this.#noise.subarray(start, start + size)
  }

  #send(method: Method, key: number, body?: Buffer): Promise<{ status: number; code: string; body: Buffer }> {
    const { host, port, credentials } = this.#endpoint
    const now = performance.now()
    if (this.#signer === undefined || now - this.#signedAtMs > SIGNER_AGE_MS_MAX) {
      this.#signer = createSigner(credentials, `${host}:${port}`)
      this.#signedAtMs = now
    }
    const path = `/${this.#bucket}/object-${String(key).padStart(7, '0')}`
    const lines = this.#signer.headers(method, path, 'UNSIGNED-PAYLOAD').trimEnd().split('\r\n')
    const headers: Record<string, string | number> = Object.fromEntries(lines.map(line => line.split(': ')))
    if (body !== undefined) headers['content-length'] = body.length
    return new Promise((resolve, reject) => {
      const onAnswer = (answer: IncomingMessage): void => {
        const parts: Buffer[] = []
        answer.on('error', reject)
        answer.on('data', part => parts.push(part))
        answer.on('end', () => {
          const received = Buffer.concat(parts)
          const status = answer.statusCode ?? 0
          const code = status < 300 ? '' : (/<Code>([^<]*)</.exec(received.toString('latin1'))?.[1] ?? '')
          resolve({ status, code, body: received })
        })
      }
      const sent = sendRequest({ host, port, method, path, headers, agent: this.#agent, timeout: TIMEOUT_MS }, onAnswer)
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} was not answered in ${TIMEOUT_MS} ms.`)))
      sent.on('error', reject)
      sent.end(body)
    })
  }
}
