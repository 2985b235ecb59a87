/**
 * The service `kms`. One backend, the primary one, wraps new data keys. A wrapped key names its backend and key (envelope.ts), and is
 * unwrapped by that backend, so that objects stay readable after the primary backend was changed. Caches data keys that a key server has
 * unwrapped, and counts errors. Clients learn that a key is unavailable; the log alone names the key and the reason.
 */

import { type CatalogError, type Clock, chain, isCatalogError, type MaybePromise } from 'svc/kernel'
import { canonicalJson } from 'svc/plugins/sealing/api'
import {
  type DataKey,
  dataKeyBytes,
  type KeyUser,
  type KmsBackend,
  type KmsContext,
  type KmsKey,
  type KmsKeyPage,
  type KmsService,
  type KmsStatus,
} from './api.ts'
import { createDataKeyCache } from './data-key-cache.ts'
import { decodeEnvelope, type Envelope, encodeEnvelope } from './envelope.ts'
import { kmsErrors } from './errors.ts'
import { checkKeyId, mayBeKeyId } from './key-id.ts'
import { missingKeys } from './missing-keys.ts'

/** How long the service trusts a key server's answer that a key does not exist. */
const successorMs = 60_000

export interface ActiveBackend {
  /** As contributed to the point. */
  readonly name: string
  readonly kind: 'local' | 'remote'
  readonly unwrapsOnly: boolean
  readonly backend: KmsBackend
}

export interface KmsOptions {
  readonly clock: Clock
  readonly cachedKeysMax: number
  readonly cachedKeyAgeMs: number
  onError(operation: string, reason: string): void
  /** Called in addition to `onError`. */
  onUnavailable(error: CatalogError): void
  onResealed(): Promise<void>
  /** Which keys of stored objects are missing, and what to do. */
  problem(): Promise<string | undefined>
  /** Who needs keys for new objects. */
  users(): readonly KeyUser[]
  /** How many former master keys are configured. */
  readonly formerKeys: number
  /** Whether a current or former master key has this name. */
  isMasterKeyName(id: string): MaybePromise<boolean>
}

export interface Kms {
  readonly service: KmsService
  /** The status of the primary backend. */
  status(): KmsStatus
  /** The first backend that is not `unwrapsOnly` becomes the primary one; all unwrap the keys that they wrapped. */
  use(backends: readonly ActiveBackend[]): void
  stop(): void
}

export function createKms({
  clock,
  cachedKeysMax,
  cachedKeyAgeMs,
  onError,
  onUnavailable,
  onResealed,
  problem,
  users,
  formerKeys,
  isMasterKeyName,
}: KmsOptions): Kms {
  let backends: readonly ActiveBackend[] = []
  let primaryBackend: ActiveBackend | undefined
  /** Names of master keys that the key server does not have, with the time until which this is trusted. The default key is used instead. */
  const successors = new Map<string, number>()
  const cache = createDataKeyCache(clock, cachedKeysMax, cachedKeyAgeMs)

  const primary = (): ActiveBackend => {
    if (primaryBackend === undefined) throw kmsErrors.kms_not_configured()
    return primaryBackend
  }

  /** Throws for an id that could change the path of a request to a key server. */
  const known = (keyId: string): string => {
    if (mayBeKeyId(keyId)) return keyId
    throw kmsErrors.kms_key_not_found('No key can have this id.')
  }

  const present = (keyId: string | undefined): MaybePromise<string> => {
    const { kind, backend } = primary()
    if (keyId === undefined || keyId === backend.defaultKeyId) return backend.defaultKeyId
    if (kind === 'local') return keyId
    const isMasterKey = isMasterKeyName(known(keyId))
    return isMasterKey instanceof Promise || isMasterKey ? successorOf(keyId, isMasterKey) : keyId
  }

  const successorOf = async (keyId: string, isMasterKey: MaybePromise<boolean>): Promise<string> => {
    if (!(await isMasterKey)) return keyId
    const { backend } = primary()
    if ((successors.get(keyId) ?? 0) > clock.now()) return backend.defaultKeyId
    if ((await counted('status', () => backend.getKey(keyId))) !== undefined) return keyId
    successors.set(keyId, clock.now() + successorMs)
    return backend.defaultKeyId
  }

  /** Counts failures of a backend and passes its answer or error on. */
  const counted = <T>(operation: string, ask: () => MaybePromise<T>): MaybePromise<T> => {
    try {
      const answer = ask()
      return answer instanceof Promise ? answer.catch(error => fail(operation, error)) : answer
    } catch (error) {
      return fail(operation, error)
    }
  }
  const fail = (operation: string, error: unknown): never => {
    if (!isCatalogError(error)) onError(operation, 'internal')
    else if (error.status >= 500) onError(operation, error.extra?.reason ?? reasons[error.code] ?? 'internal')
    throw isCatalogError(error) && error.code === 'kms_unavailable' ? unavailable(error) : error
  }
  /** The error for clients, which does not reveal names of keys or servers. */
  const unavailable = (error: CatalogError): CatalogError => {
    onUnavailable(error)
    return kmsErrors.kms_unavailable(undefined, { cause: error })
  }

  const describe = (key: Omit<KmsKey, 'isDefault'>, defaultKeyId: string): KmsKey => ({
    ...key,
    isDefault: key.id === defaultKeyId,
  })

  const service: KmsService = {
    onResealed,

    get isConfigured() {
      return primaryBackend !== undefined
    },

    get defaultKeyId() {
      return primaryBackend?.backend.defaultKeyId
    },

    generate(keyId, context) {
      const { name, backend } = primary()
      const id = keyId === undefined ? backend.defaultKeyId : known(keyId)
      return chain(
        counted('generate', () => sound(backend.generate(id, contextBytes(context)), isDataKey)),
        ({ plaintext, wrapped }): DataKey => ({
          plaintext,
          wrapped: encodeEnvelope({ backend: name, keyId: id, wrapped }),
          keyId: id,
        }),
      )
    },

    unwrap(wrapped, context) {
      const envelope = decodeEnvelope(wrapped)
      const { kind, backend } = findBackend(envelope.backend)
      const bytes = contextBytes(context)
      const ask = () => counted('decrypt', () => sound(unwrapWith(backend, envelope, bytes), isKey))
      if (kind === 'local') return ask()
      const known = cache.get(wrapped, bytes)
      if (known !== undefined) return known
      const opened = ask()
      const keep = (plaintext: Buffer) => {
        cache.set(wrapped, bytes, plaintext)
        return plaintext
      }
      return opened instanceof Promise ? opened.then(keep) : keep(opened)
    },

    wrap(keyId, plaintext, context) {
      const { name, backend } = primary()
      return chain(present(keyId), id =>
        chain(
          counted('encrypt', () => sound(backend.wrap(id, plaintext, contextBytes(context)), isWrapped)),
          wrapped => encodeEnvelope({ backend: name, keyId: id, wrapped }),
        ),
      )
    },

    isCurrent(wrapped, keyId) {
      const { name, backend } = primary()
      const envelope = decodeEnvelope(wrapped)
      if (envelope.backend !== name) return false
      return chain(
        present(keyId),
        id => envelope.keyId === id && counted('status', () => backend.isCurrent(id, envelope.wrapped)),
      )
    },

    requireKey(keyId) {
      const { backend } = primary()
      return chain(
        counted('status', () => backend.getKey(known(keyId))),
        key => {
          if (key === undefined) throw kmsErrors.kms_key_not_found(`There is no key "${keyId}".`)
        },
      )
    },

    presentKeyId: present,

    async createKey(id) {
      const { backend } = primary()
      const problem = checkKeyId(id)
      if (problem !== undefined) throw kmsErrors.invalid_key_id(`The id of a key ${problem}.`)
      const created = describe(await counted('create', () => backend.createKey(id)), backend.defaultKeyId)
      successors.delete(id)
      return created
    },

    async listKeys({ startAfter, limit }): Promise<KmsKeyPage> {
      const { backend } = primary()
      const { defaultKeyId } = backend
      const listed = await counted('list', () => backend.listKeys(startAfter, limit + 1))
      const found = new Map(listed.map(key => [key.id, key]))
      if (!found.has(defaultKeyId) && defaultKeyId > startAfter) {
        const own = await counted('status', () => backend.getKey(defaultKeyId))
        if (own !== undefined) found.set(defaultKeyId, own)
      }
      const sorted = [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      const keys = sorted.slice(0, limit).map(key => describe(key, defaultKeyId))
      return { keys, next: sorted.length > limit ? keys.at(-1)?.id : undefined }
    },

    async status() {
      const before = statusNow()
      if (before.error !== '') return before
      // An unreadable store must not make the status fail.
      const problems = await Promise.all([
        problem().catch(() => 'the list of needed master keys cannot be read at present'),
        before.online ? missing().catch(() => 'the settings that name keys cannot be read at present') : undefined,
      ])
      // The key server may have failed only when it was asked.
      const status = statusNow()
      if (status.error !== '') return status
      return { ...status, error: problems.filter(each => each !== undefined).join('; ') }
    },
  }

  /** Once for all who ask meanwhile: each key is a request to a key server. */
  let asked: Promise<string | undefined> | undefined
  const missing = (): Promise<string | undefined> => {
    asked ??= askForMissing().finally(() => {
      asked = undefined
    })
    return asked
  }

  const askForMissing = async (): Promise<string | undefined> => {
    if (primaryBackend === undefined) return undefined
    const { backend } = primaryBackend
    return missingKeys({
      defaultKeyId: backend.defaultKeyId,
      users: users(),
      isThere: async keyId => {
        const id = await present(keyId)
        return (await counted('status', () => backend.getKey(id))) !== undefined
      },
    })
  }

  const statusNow = (): KmsStatus => {
    if (primaryBackend === undefined) return { ...notConfigured, formerKeys }
    const { name, kind, backend } = primaryBackend
    return {
      isConfigured: true,
      backend: name,
      defaultKeyId: backend.defaultKeyId,
      ...backend.status(),
      // A key server has former keys of its own, which are not counted.
      ...(kind === 'local' && { formerKeys }),
    }
  }

  const findBackend = (name: string): ActiveBackend => {
    const found = backends.find(candidate => candidate.name === name)
    if (found !== undefined) return found
    onError('decrypt', 'not_configured')
    throw unavailable(
      kmsErrors.kms_unavailable(
        `A data key was wrapped by the key management "${name}", which is not configured: ` +
          (name === 'builtin'
            ? 'set its master key in SVC_KMS_SECRET_KEY, or in SVC_KMS_SECRET_KEY_PREVIOUS for reads only.'
            : 'configure it again.'),
      ),
    )
  }

  return {
    service,
    status: statusNow,
    use(active) {
      backends = active
      primaryBackend = active.find(({ unwrapsOnly }) => !unwrapsOnly)
      successors.clear()
    },
    stop() {
      backends = []
      primaryBackend = undefined
      cache.clear()
    },
  }
}

const reasons: Readonly<Record<CatalogError['code'], string>> = {
  kms_unavailable: 'unavailable',
  kms_open_failed: 'open_failed',
}

const notConfigured: Omit<KmsStatus, 'formerKeys'> = {
  isConfigured: false,
  backend: '',
  defaultKeyId: '',
  endpoints: [],
  online: false,
  error: '',
  version: '',
}

const wrappedBytesMax = 16 * 1024
const isKey = ({ length }: Buffer): boolean => length === dataKeyBytes
/** It is stored with each object. */
const isWrapped = ({ length }: Buffer): boolean => length > 0 && length <= wrappedBytesMax
const isDataKey = ({ plaintext, wrapped }: { readonly plaintext: Buffer; readonly wrapped: Buffer }): boolean =>
  isKey(plaintext) && isWrapped(wrapped)

/** What a backend has answered, which may be a key server that is broken or hostile. */
function sound<T>(answer: MaybePromise<T>, isSound: (answer: T) => boolean): MaybePromise<T> {
  return chain(answer, found => {
    if (!isSound(found)) throw kmsErrors.kms_unavailable('The answer of the key server has a key of a wrong length.')
    return found
  })
}

/** Adds the names of key and backend to the error, which the backend's message lacks. */
function unwrapWith(
  backend: KmsBackend,
  { backend: name, keyId, wrapped }: Envelope,
  context: Buffer,
): MaybePromise<Buffer> {
  const rethrow = (error: unknown): never => {
    if (!isCatalogError(error) || error.code !== 'kms_open_failed') throw error
    throw kmsErrors.kms_open_failed(`${error.message} It was wrapped under the key "${keyId}" of "${name}".`, {
      cause: error,
    })
  }
  try {
    const opened = backend.unwrap(keyId, wrapped, context)
    return opened instanceof Promise ? opened.catch(rethrow) : opened
  } catch (error) {
    return rethrow(error)
  }
}

/** The canonical JSON of a context; a fast path for strings in ASCII. */
function contextBytes(context: KmsContext): Buffer {
  const names = Object.keys(context)
  if (names.length > 1) names.sort()
  let text = '{'
  for (const name of names) {
    const value = context[name]!
    // `canonicalJson` throws for a value that JSON cannot represent.
    if (typeof value !== 'string') return Buffer.from(canonicalJson(context))
    if (text.length > 1) text += ','
    if (isPlain.test(name) && isPlain.test(value)) {
      text += `"${name}":"${value}"`
      continue
    }
    if (!name.isWellFormed() || !value.isWellFormed()) return Buffer.from(canonicalJson(context))
    text += `${JSON.stringify(name)}:${JSON.stringify(value)}`
  }
  return Buffer.from(`${text}}`)
}

/** Printable ASCII that JSON writes as it is. */
const isPlain = /^[ !#-[\]-~]*$/
