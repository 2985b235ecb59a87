/**
 * The protocol of KES. Source: its server API, https://min.io/docs/kes/concepts/server-api/. A key of KES has one version, so a key that it
 * wrapped is always current.
 */
import { type KmsBackend, kmsErrors, mayBeKeyId } from 'svc/plugins/kms/api'
import type { Answer, Call, KeyServers } from './key-servers.ts'

interface KeyDescription {
  readonly name?: string
  readonly created_at?: unknown
}

export interface ProbedBackend extends KmsBackend {
  /** Checks which key servers answer. */
  probe(): Promise<void>
}

export function createKes(servers: KeyServers, defaultKeyId: string): ProbedBackend {
  let version = ''
  // Current releases of KES take PUT for changes, former ones POST.
  let changeMethod = 'PUT'

  const change = async (path: string, body?: object): Promise<Answer> => {
    const call: Call = { method: changeMethod, path, body }
    const answer = await servers.send(call)
    if (answer.status !== 405) return answer
    changeMethod = changeMethod === 'PUT' ? 'POST' : 'PUT'
    return servers.send({ ...call, method: changeMethod })
  }

  const onKey = async (operation: string, keyId: string, body: object): Promise<unknown> => {
    const answer = await change(`/v1/key/${operation}/${encodeURIComponent(keyId)}`, body)
    if (answer.status === 200) return answer.json
    if (answer.status === 404) throw kmsErrors.kms_key_not_found(`There is no key "${keyId}" on the key server.`)
    // KES does not tell whether ciphertext, context or key is wrong.
    if (operation === 'decrypt' && answer.status === 400) throw kmsErrors.kms_open_failed()
    throw refused(answer)
  }

  const getKey: KmsBackend['getKey'] = async id => {
    const answer = await servers.send({ method: 'GET', path: `/v1/key/describe/${encodeURIComponent(id)}` })
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw refused(answer)
    return describe(id, (answer.json ?? {}) as KeyDescription)
  }

  return {
    defaultKeyId,
    getKey,
    stop: () => servers.close(),

    async generate(keyId, context) {
      const made = await onKey('generate', keyId, { context: context.toString('base64') })
      return { plaintext: bytesOf(made, 'plaintext', 32), wrapped: bytesOf(made, 'ciphertext') }
    },

    async wrap(keyId, plaintext, context) {
      const body = { plaintext: Buffer.from(plaintext).toString('base64'), context: context.toString('base64') }
      return bytesOf(await onKey('encrypt', keyId, body), 'ciphertext')
    },

    async unwrap(keyId, wrapped, context) {
      if (wrapped.length === 0) throw kmsErrors.kms_open_failed()
      const body = { ciphertext: Buffer.from(wrapped).toString('base64'), context: context.toString('base64') }
      return bytesOf(await onKey('decrypt', keyId, body), 'plaintext')
    },

    isCurrent: () => true,

    async createKey(id) {
      const answer = await change(`/v1/key/create/${encodeURIComponent(id)}`)
      if (answer.status === 200 || answer.status === 201) return (await getKey(id)) ?? { id, createdMs: undefined }
      if (answer.status === 409 || /already exists/.test(answer.text)) throw kmsErrors.already_exists()
      throw refused(answer)
    },

    async listKeys(startAfter, limit) {
      const answer = await servers.send({ method: 'GET', path: '/v1/key/list/*' })
      if (answer.status !== 200) throw refused(answer)
      const keys = listed(answer).filter(({ id }) => id > startAfter && mayBeKeyId(id))
      return keys.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },

    status: () => ({ ...servers.status(), version }),

    async probe() {
      await servers.probe({ method: 'GET', path: '/version' }, answer => {
        version = textOf(answer.json, 'version') || version
        return answer.status === 200
      })
    },
  }
}

function describe(id: string, { created_at: createdAt }: KeyDescription) {
  const createdMs = typeof createdAt === 'string' ? Date.parse(createdAt) : Number.NaN
  return { id, createdMs: createdMs > 0 ? createdMs : undefined }
}

/** Current releases answer with a list of names, former ones with a description on each line. */
function listed({ json, text }: Answer) {
  const names = (json as { names?: unknown } | undefined)?.names
  if (Array.isArray(names)) return names.flatMap(name => (typeof name === 'string' ? [describe(name, {})] : []))
  const lines = Array.isArray(json) ? json : text.split('\n').flatMap(line => (line.trim() === '' ? [] : [parse(line)]))
  return (lines as KeyDescription[]).flatMap(key => (typeof key?.name === 'string' ? [describe(key.name, key)] : []))
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw kmsErrors.kms_unavailable('The answer of the key server is not JSON.')
  }
}

function textOf(json: unknown, name: string): string {
  const value = (json as Record<string, unknown> | undefined | null)?.[name]
  return typeof value === 'string' ? value : ''
}

function bytesOf(json: unknown, name: string, length?: number): Buffer {
  const bytes = Buffer.from(textOf(json, name), 'base64')
  if (bytes.length === 0 || (length !== undefined && bytes.length !== length)) {
    throw kmsErrors.kms_unavailable(`The answer of the key server has no valid "${name}".`)
  }
  return bytes
}

/** The error for a refused request. Leaves out the key server's message, which may repeat secrets of the request. */
export function refused({ status }: Answer): Error {
  return kmsErrors.kms_unavailable(
    status === 401 || status === 403
      ? 'The key server does not allow this operation for the certificate or token of this server.'
      : `The key server answers ${status}.`,
  )
}
