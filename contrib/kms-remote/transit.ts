/**
 * The transit engine of HashiCorp Vault and OpenBao. Source: https://developer.hashicorp.com/vault/api-docs/secret/transit. Contexts are
 * associated data of AES-256-GCM. Data keys are made here and encrypted there, because only `encrypt` takes associated data.
 */
import type { Clock, Random } from 'svc/kernel'
import { dataKeyBytes, type KmsBackend, kmsErrors } from 'svc/plugins/kms/api'
import { type ProbedBackend, refused } from './kes.ts'
import type { Answer, Call, KeyServers } from './key-servers.ts'

export interface TransitOptions {
  readonly servers: KeyServers
  readonly defaultKeyId: string
  /** Without, the client certificate logs in. */
  readonly token: string | undefined
  readonly mount: string
  readonly namespace: string | undefined
  readonly random: Random
  readonly clock: Clock
}

/** How long the latest version of a key is taken to be that. */
const versionAgeMsMax = 10_000
const versionsMax = 256

interface KnownKey {
  readonly latest: number
  readonly createdMs: number | undefined
  readonly untilMs: number
}

export function createTransit(options: TransitOptions): ProbedBackend {
  const { servers, defaultKeyId, mount, namespace, random, clock } = options
  let { token } = options
  let version = ''
  const known = new Map<string, KnownKey>()
  const spaces: Readonly<Record<string, string>> = namespace === undefined ? {} : { 'x-vault-namespace': namespace }

  const logIn = async (): Promise<string> => {
    const answer = await servers.send({ method: 'POST', path: '/v1/auth/cert/login', body: {}, headers: spaces })
    const given = (answer.json as { auth?: { client_token?: unknown } } | undefined)?.auth?.client_token
    if (answer.status !== 200 || typeof given !== 'string') throw refused(answer)
    return given
  }

  const send = async (call: Call): Promise<Answer> => {
    const sendWith = (shown: string) => servers.send({ ...call, headers: { ...spaces, 'x-vault-token': shown } })
    token ??= await logIn()
    const answer = await sendWith(token)
    if (answer.status !== 403 || options.token !== undefined) return answer
    // What logging in gave has a time to live.
    token = await logIn()
    return sendWith(token)
  }

  const readKey = async (id: string): Promise<KnownKey | undefined> => {
    const answer = await send({ method: 'GET', path: `/v1/${mount}/keys/${encodeURIComponent(id)}` })
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw refused(answer)
    const { latest_version: latest = 1, keys = {} } = dataOf(answer) as {
      latest_version?: number
      keys?: Readonly<Record<string, unknown>>
    }
    const [created] = Object.values(keys)
    const createdMs = typeof created === 'number' ? created * 1000 : undefined
    const key = { latest, createdMs, untilMs: clock.now() + versionAgeMsMax }
    if (known.size >= versionsMax) known.clear()
    known.set(id, key)
    return key
  }

  const findKey = async (id: string): Promise<KnownKey | undefined> => {
    const present = known.get(id)
    return present !== undefined && present.untilMs > clock.now() ? present : readKey(id)
  }

  const encrypt = async (keyId: string, plaintext: Uint8Array, context: Buffer): Promise<Buffer> => {
    // Encrypting under a name that has no key would make one.
    if ((await findKey(keyId)) === undefined) throw missing(keyId)
    const body = { plaintext: base64(plaintext), associated_data: base64(context) }
    const answer = await send({ method: 'POST', path: `/v1/${mount}/encrypt/${encodeURIComponent(keyId)}`, body })
    if (answer.status !== 200) throw refused(answer)
    const { ciphertext } = dataOf(answer) as { ciphertext?: unknown }
    if (typeof ciphertext !== 'string' || !/^vault:v\d+:/.test(ciphertext)) throw refused(answer)
    return Buffer.from(ciphertext)
  }

  return {
    defaultKeyId,
    stop: () => servers.close(),

    async generate(keyId, context) {
      const plaintext = random.bytes(dataKeyBytes)
      return { plaintext, wrapped: await encrypt(keyId, plaintext, context) }
    },

    wrap: encrypt,

    async unwrap(keyId, wrapped, context) {
      const ciphertext = Buffer.from(wrapped).toString()
      if (!/^vault:v\d+:[A-Za-z0-9+/=]+$/.test(ciphertext)) throw kmsErrors.kms_open_failed()
      const body = { ciphertext, associated_data: base64(context) }
      const answer = await send({ method: 'POST', path: `/v1/${mount}/decrypt/${encodeURIComponent(keyId)}`, body })
      if (answer.status === 200) {
        const { plaintext } = dataOf(answer) as { plaintext?: unknown }
        if (typeof plaintext !== 'string') throw refused(answer)
        return Buffer.from(plaintext, 'base64')
      }
      // A key that is not there is answered in the same way as a ciphertext that does not open.
      if (answer.status !== 400) throw refused(answer)
      if ((await readKey(keyId)) === undefined) throw missing(keyId)
      throw kmsErrors.kms_open_failed()
    },

    async isCurrent(keyId, wrapped) {
      const key = await findKey(keyId)
      return key !== undefined && Buffer.from(wrapped).toString().startsWith(`vault:v${key.latest}:`)
    },

    async getKey(id) {
      const key = await readKey(id)
      return key && { id, createdMs: key.createdMs }
    },

    async createKey(id) {
      // The engine would answer as if it had made one.
      if ((await readKey(id)) !== undefined) throw kmsErrors.already_exists()
      const body = { type: 'aes256-gcm96' }
      const answer = await send({ method: 'POST', path: `/v1/${mount}/keys/${encodeURIComponent(id)}`, body })
      if (answer.status !== 200 && answer.status !== 204) throw refused(answer)
      return { id, createdMs: (await readKey(id))?.createdMs }
    },

    async listKeys(startAfter, limit) {
      const answer = await send({ method: 'GET', path: `/v1/${mount}/keys?list=true` })
      if (answer.status === 404) return []
      if (answer.status !== 200) throw refused(answer)
      const { keys = [] } = dataOf(answer) as { keys?: readonly string[] }
      const wanted = keys.filter(id => id > startAfter).sort((a, b) => (a < b ? -1 : 1))
      return wanted.slice(0, limit).map(id => ({ id, createdMs: known.get(id)?.createdMs }))
    },

    status: () => ({ ...servers.status(), version }),

    async probe() {
      // 429, 472 and 473 are stand-by nodes: they pass requests on.
      await servers.probe({ method: 'GET', path: '/v1/sys/health', headers: spaces }, ({ status, json }) => {
        const told = (json as { version?: unknown } | undefined)?.version
        if (typeof told === 'string') version = told
        return [200, 429, 472, 473].includes(status)
      })
    },
  } satisfies KmsBackend & ProbedBackend
}

function dataOf({ json }: Answer): object {
  const data = (json as { data?: unknown } | undefined)?.data
  return typeof data === 'object' && data !== null ? data : {}
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function missing(keyId: string): Error {
  return kmsErrors.kms_key_not_found(`There is no key "${keyId}" on the key server.`)
}
