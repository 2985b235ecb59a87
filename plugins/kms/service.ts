/** The service `kms`: finds who opens a sealed key, remembers what key servers opened, and counts what goes wrong. */

import type { MaybePromise } from 'svc/kernel'
import { type CatalogError, type Clock, isCatalogError } from 'svc/kernel'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { DataKey, KmsBackend, KmsContext, KmsKey, KmsKeyPage, KmsService, KmsStatus } from './api.ts'
import { createDataKeyCache } from './data-key-cache.ts'
import { decodeEnvelope, type Envelope, encodeEnvelope } from './envelope.ts'
import { kmsErrors } from './errors.ts'
import { checkKeyId, mayBeKeyId } from './key-id.ts'

/** How long it is believed that a key server does not have a key. */
const successorMs = 60_000

export interface ActiveBackend {
  /** As contributed to the point. */
  readonly name: string
  readonly kind: 'local' | 'remote'
  readonly opensOnly: boolean
  readonly backend: KmsBackend
}

export interface KmsOptions {
  readonly clock: Clock
  readonly cachedKeysMax: number
  readonly cachedKeyAgeMs: number
  onError(operation: string, reason: string): void
  /** Also counted. */
  onUnavailable(error: CatalogError): void
  onResealed(): Promise<void>
  /** Which keys are missing, and what to do. */
  problem(): Promise<string | undefined>
  /** Whether a built-in key that seals where none is named has, or had, this name. */
  isMasterKeyName(id: string): MaybePromise<boolean>
}

export interface Kms {
  readonly service: KmsService
  /** Of the backend that seals. */
  status(): KmsStatus
  /** The first one seals; all open what they sealed. */
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
  isMasterKeyName,
}: KmsOptions): Kms {
  let backends: readonly ActiveBackend[] = []
  let sealing: ActiveBackend | undefined
  /** Ids that stand for the default key, and until when that is believed. */
  const successors = new Map<string, number>()
  const cache = createDataKeyCache(clock, cachedKeysMax, cachedKeyAgeMs)

  const primary = (): ActiveBackend => {
    if (sealing === undefined) throw kmsErrors.kms_not_configured()
    return sealing
  }

  /** Throws for what would mean another thing in a path. */
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

  const later = <A, B>(value: MaybePromise<A>, then: (value: A) => MaybePromise<B>): MaybePromise<B> =>
    value instanceof Promise ? value.then(then) : then(value)

  /** Counts failures of a backend; gives on what it answers. */
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
  /** What clients hear of it: not which keys or servers there are. */
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
      return sealing !== undefined
    },

    get defaultKeyId() {
      return sealing?.backend.defaultKeyId
    },

    generate(keyId, context) {
      const { name, backend } = primary()
      const id = keyId === undefined ? backend.defaultKeyId : known(keyId)
      return later(
        counted('generate', () => backend.generate(id, contextBytes(context))),
        ({ plaintext, sealed }): DataKey => ({
          plaintext,
          sealed: encodeEnvelope({ backend: name, keyId: id, sealed }),
          keyId: id,
        }),
      )
    },

    open(sealed, context) {
      const envelope = decodeEnvelope(sealed)
      const { kind, backend } = findBackend(envelope.backend)
      const bytes = contextBytes(context)
      const ask = () => counted('decrypt', () => openUnder(backend, envelope, bytes))
      if (kind === 'local') return ask()
      const known = cache.get(sealed, bytes)
      if (known !== undefined) return known
      const opened = ask()
      const keep = (plaintext: Buffer) => {
        cache.set(sealed, bytes, plaintext)
        return plaintext
      }
      return opened instanceof Promise ? opened.then(keep) : keep(opened)
    },

    seal(keyId, plaintext, context) {
      const { name, backend } = primary()
      return later(present(keyId), id =>
        later(
          counted('encrypt', () => backend.seal(id, plaintext, contextBytes(context))),
          sealed => encodeEnvelope({ backend: name, keyId: id, sealed }),
        ),
      )
    },

    isCurrent(sealed, keyId) {
      const { name, backend } = primary()
      const envelope = decodeEnvelope(sealed)
      if (envelope.backend !== name) return false
      return later(
        present(keyId),
        id => envelope.keyId === id && counted('status', () => backend.isCurrent(id, envelope.sealed)),
      )
    },

    requireKey(keyId) {
      const { backend } = primary()
      return later(
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
      const status = statusNow()
      if (status.error !== '') return status
      // The status of keys that can be had does not depend on the store.
      const missing = await problem().catch(() => 'which master keys are needed cannot be read at present')
      return { ...status, error: missing ?? '' }
    },
  }

  const statusNow = (): KmsStatus => {
    if (sealing === undefined) return notConfigured
    const { name, backend } = sealing
    return { isConfigured: true, backend: name, defaultKeyId: backend.defaultKeyId, ...backend.status() }
  }

  const findBackend = (name: string): ActiveBackend => {
    const found = backends.find(candidate => candidate.name === name)
    if (found !== undefined) return found
    onError('decrypt', 'not_configured')
    throw unavailable(
      kmsErrors.kms_unavailable(
        `This was sealed by the key management "${name}", which is not configured: ` +
          (name === 'builtin'
            ? 'give its master key in SVC_KMS_SECRET_KEY, or in SVC_KMS_SECRET_KEY_PREVIOUS to open only.'
            : 'configure it again.'),
      ),
    )
  }

  return {
    service,
    status: statusNow,
    use(active) {
      backends = active
      sealing = active.find(({ opensOnly }) => !opensOnly)
      successors.clear()
    },
    stop() {
      backends = []
      sealing = undefined
      cache.clear()
    },
  }
}

const reasons: Readonly<Record<CatalogError['code'], string>> = {
  kms_unavailable: 'unavailable',
  kms_open_failed: 'open_failed',
}

const notConfigured: KmsStatus = {
  isConfigured: false,
  backend: '',
  defaultKeyId: '',
  endpoints: [],
  online: false,
  error: '',
  version: '',
}

/** Says to the operator which key it was: the backend's own words do not. */
function openUnder(
  backend: KmsBackend,
  { backend: name, keyId, sealed }: Envelope,
  context: Buffer,
): MaybePromise<Buffer> {
  const rethrow = (error: unknown): never => {
    if (!isCatalogError(error) || error.code !== 'kms_open_failed') throw error
    throw kmsErrors.kms_open_failed(`${error.message} It was sealed under the key "${keyId}" of "${name}".`, {
      cause: error,
    })
  }
  try {
    const opened = backend.open(keyId, sealed, context)
    return opened instanceof Promise ? opened.catch(rethrow) : opened
  } catch (error) {
    return rethrow(error)
  }
}

/** Canonical JSON, without the detours that it takes for values of any shape. */
function contextBytes(context: KmsContext): Buffer {
  const names = Object.keys(context)
  if (names.length > 1) names.sort()
  let text = '{'
  for (const name of names) {
    const value = context[name]!
    // What JSON cannot hold is refused there.
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
