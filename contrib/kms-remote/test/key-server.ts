/**
 * Key servers for tests: real TLS with client certificates, real encryption, and both protocols as documented. Each server can be made to
 * fail.
 */

import { execFileSync } from 'node:child_process'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

export interface Certificates {
  readonly authority: string
  readonly server: { readonly certificate: string; readonly key: string }
  readonly client: { readonly certificate: string; readonly key: string }
  /** Issued by an authority that no server trusts. */
  readonly stranger: { readonly certificate: string; readonly key: string }
}

/** Paths of PEM files in the folder. */
export function createCertificates(folder: string): Certificates {
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'ignore' })
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const authorityOf = (name: string) => {
    const pair = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
    openssl('req', '-x509', ...ec, '-days', '2', '-subj', `/CN=${name}`, '-keyout', pair.key, '-out', pair.certificate)
    return pair
  }
  const signedBy = (authority: { certificate: string; key: string }, name: string) => {
    const [key, request, certificate] = ['key', 'csr', 'crt'].map(end => join(folder, `${name}.${end}`)) as [
      string,
      string,
      string,
    ]
    openssl('req', ...ec, '-subj', `/CN=${name}`, '-keyout', key, '-out', request)
    const extensions = join(folder, `${name}.ext`)
    writeFileSync(extensions, 'subjectAltName=IP:127.0.0.1\n')
    openssl(
      'x509',
      '-req',
      '-days',
      '2',
      '-in',
      request,
      '-CA',
      authority.certificate,
      '-CAkey',
      authority.key,
      '-CAcreateserial',
      '-extfile',
      extensions,
      '-out',
      certificate,
    )
    return { certificate, key }
  }
  const authority = authorityOf('authority')
  return {
    authority: authority.certificate,
    server: signedBy(authority, 'server'),
    client: signedBy(authority, 'client'),
    stranger: signedBy(authorityOf('nobody'), 'stranger'),
  }
}

/** Shared by several servers, which have the same keys. */
export class Keys {
  readonly #versions = new Map<string, Buffer[]>()

  constructor(...names: string[]) {
    for (const name of names) this.create(name)
  }

  names(): string[] {
    return [...this.#versions.keys()]
  }

  latest(name: string): number | undefined {
    return this.#versions.get(name)?.length
  }

  create(name: string): boolean {
    if (this.#versions.has(name)) return false
    this.#versions.set(name, [randomBytes(32)])
    return true
  }

  delete(name: string): void {
    this.#versions.delete(name)
  }

  rotate(name: string): void {
    this.#versions.get(name)!.push(randomBytes(32))
  }

  encrypt(name: string, plaintext: Buffer, context: Buffer): Buffer {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#versions.get(name)!.at(-1)!, nonce)
    cipher.setAAD(context)
    return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  /** Undefined if it cannot be decrypted. */
  decrypt(name: string, version: number, ciphertext: Buffer, context: Buffer): Buffer | undefined {
    const key = this.#versions.get(name)?.[version - 1]
    if (key === undefined || ciphertext.length < 28) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(0, 12))
      decipher.setAAD(context)
      decipher.setAuthTag(ciphertext.subarray(-16))
      return Buffer.concat([decipher.update(ciphertext.subarray(12, -16)), decipher.final()])
    } catch {
      return undefined
    }
  }
}

export interface KeyServer {
  readonly url: string
  /** Method and path of all requests. */
  readonly requests: string[]
  /** `hang` sends no answer, `fail` 503; `former` accepts POST where present releases accept PUT. */
  mode: 'fine' | 'hang' | 'fail' | 'former'
  /** What a hostile server answers to this path, with 200; undefined: what is right. */
  says: (path: string) => object | string | null | undefined
  /** Tokens of log-ins. */
  readonly tokens: Set<string>
  stop(): Promise<void>
}

type Answer = readonly [status: number, body?: object | string]

export async function startKeyServer(
  protocol: 'kes' | 'transit',
  certificates: Certificates,
  keys: Keys,
): Promise<KeyServer> {
  const requests: string[] = []
  const tokens = new Set(['given-token'])
  const answerOf = protocol === 'kes' ? answerKes : answerTransit
  const server = createServer(
    {
      ca: readFileSync(certificates.authority),
      cert: readFileSync(certificates.server.certificate),
      key: readFileSync(certificates.server.key),
      requestCert: true,
      rejectUnauthorized: true,
    },
    async (request, response) => {
      requests.push(`${request.method} ${request.url}`)
      if (running.mode === 'hang') return
      const said = running.says(request.url!)
      if (said !== undefined) return response.end(typeof said === 'string' ? said : JSON.stringify(said))
      const [status, body] =
        running.mode === 'fail' ? [503, { message: 'sealed' }] : await answerOf(request, running, keys)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : body && JSON.stringify(body))
    },
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const running: KeyServer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    mode: 'fine',
    says: () => undefined,
    tokens,
    stop() {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
  return running
}

const bytes = (text: unknown) => Buffer.from(String(text ?? ''), 'base64')

/** Source: https://min.io/docs/kes/concepts/server-api/ */
async function answerKes(request: IncomingMessage, { mode }: KeyServer, keys: Keys): Promise<Answer> {
  const [, , kind, operation, name = ''] = decodeURIComponent(request.url!).split('/')
  if (request.url === '/version') return [200, { version: '2025-01-01T00-00-00Z', commit: '' }]
  if (kind !== 'key') return [404, { message: 'not found' }]
  const reading = operation === 'describe' || operation === 'list'
  if (request.method !== (reading ? 'GET' : mode === 'former' ? 'POST' : 'PUT'))
    return [405, { message: 'method not allowed' }]
  if (operation === 'list') {
    if (mode === 'former')
      return [
        200,
        keys
          .names()
          .map(one => `${JSON.stringify({ name: one })}\n`)
          .join(''),
      ]
    return [200, { names: keys.names(), continue_at: '' }]
  }
  if (operation === 'create') {
    return keys.create(name) ? [200] : [mode === 'former' ? 400 : 409, { message: 'key already exists' }]
  }
  if (keys.latest(name) === undefined) return [404, { message: 'key does not exist' }]
  if (operation === 'describe') return [200, { name, created_at: '2025-02-03T04:05:06Z' }]
  const { plaintext, ciphertext, context } = (await json(request)) as Record<string, string>
  if (operation === 'decrypt') {
    const opened = keys.decrypt(name, 1, bytes(ciphertext), bytes(context))
    return opened === undefined
      ? [400, { message: 'decryption failed: ciphertext is not authentic' }]
      : [200, { plaintext: opened.toString('base64') }]
  }
  const made = operation === 'generate' ? randomBytes(32) : bytes(plaintext)
  const encrypted = keys.encrypt(name, made, bytes(context)).toString('base64')
  return [200, { ciphertext: encrypted, ...(operation === 'generate' ? { plaintext: made.toString('base64') } : {}) }]
}

/** Source: https://developer.hashicorp.com/vault/api-docs/secret/transit */
async function answerTransit(request: IncomingMessage, { tokens }: KeyServer, keys: Keys): Promise<Answer> {
  const url = new URL(request.url!, 'https://x')
  if (url.pathname === '/v1/sys/health') return [200, { sealed: false, version: '1.20.0' }]
  if (url.pathname === '/v1/auth/cert/login') {
    const token = `token-${tokens.size}`
    tokens.add(token)
    return [200, { auth: { client_token: token, lease_duration: 60 } }]
  }
  if (!tokens.has(String(request.headers['x-vault-token']))) return [403, { errors: ['permission denied'] }]
  const [, , mount, operation, name = ''] = decodeURIComponent(url.pathname).split('/')
  if (mount !== 'transit') return [404, { errors: [] }]
  if (operation === 'keys' && name === '') {
    return keys.names().length === 0 ? [404, { errors: [] }] : [200, { data: { keys: keys.names() } }]
  }
  if (operation === 'keys' && request.method === 'POST') {
    keys.create(name)
    return [204]
  }
  const latest = keys.latest(name)
  if (operation === 'keys') {
    if (latest === undefined) return [404, { errors: [] }]
    const times = Object.fromEntries(Array.from({ length: latest }, (_, i) => [i + 1, 1_738_555_506]))
    return [200, { data: { name, latest_version: latest, keys: times } }]
  }
  const { plaintext, ciphertext, associated_data: context } = (await json(request)) as Record<string, string>
  if (operation === 'encrypt') {
    // Like the engine, for users with permission: creates a missing key.
    keys.create(name)
    const encrypted = keys.encrypt(name, bytes(plaintext), bytes(context)).toString('base64')
    return [200, { data: { ciphertext: `vault:v${keys.latest(name)}:${encrypted}` } }]
  }
  if (latest === undefined) return [400, { errors: ['encryption key not found'] }]
  const [, version, encrypted] = String(ciphertext).split(':')
  const opened = keys.decrypt(name, Number(version!.slice(1)), bytes(encrypted), bytes(context))
  return opened === undefined
    ? [400, { errors: ['cipher: message authentication failed'] }]
    : [200, { data: { plaintext: opened.toString('base64') } }]
}
