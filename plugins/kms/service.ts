/** The service `kms`: finds who opens a sealed key, remembers what key servers opened, and counts what goes wrong. */
import { type CatalogError, type Clock, isCatalogError } from 'svc/kernel'
import type { MaybePromise } from 'svc/plugins/storage/api'
import { canonicalJson } from 'svc/plugins/store/api'
import type { DataKey, KmsBackend, KmsContext, KmsKey, KmsKeyPage, KmsService, KmsStatus } from './api.ts'
import { createDataKeyCache } from './data-key-cache.ts'
import { decodeEnvelope, encodeEnvelope } from './envelope.ts'
import { kmsErrors } from './errors.ts'
import { checkKeyId } from './key-id.ts'

export interface ActiveBackend {
  /** As contributed to the point. */
  readonly name: string
  readonly kind: 'local' | 'remote'
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
  /** Which master keys are missing, and what to do. */
  problem(): Promise<string | undefined>
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
}: KmsOptions): Kms {
  let backends: readonly ActiveBackend[] = []
  const cache = createDataKeyCache(clock, cachedKeysMax, cachedKeyAgeMs)

  const primary = (): ActiveBackend => {
    const [first] = backends
    if (first === undefined) throw kmsErrors.kms_not_configured()
    return first
  }

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
      return backends.length > 0
    },

    get defaultKeyId() {
      return backends[0]?.backend.defaultKeyId
    },

    generate(keyId, context) {
      const { name, backend } = primary()
      const id = keyId ?? backend.defaultKeyId
      const wrap = ({ plaintext, sealed }: { plaintext: Buffer; sealed: Buffer }): DataKey => ({
        plaintext,
        sealed: encodeEnvelope({ backend: name, keyId: id, sealed }),
        keyId: id,
      })
      const made = counted('generate', () => backend.generate(id, contextBytes(context)))
      return made instanceof Promise ? made.then(wrap) : wrap(made)
    },

    open(sealed, context) {
      const envelope = decodeEnvelope(sealed)
      const { kind, backend } = findBackend(envelope.backend)
      const bytes = contextBytes(context)
      const ask = () => counted('decrypt', () => backend.open(envelope.keyId, envelope.sealed, bytes))
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
      const id = keyId ?? backend.defaultKeyId
      const wrap = (sealed: Buffer) => encodeEnvelope({ backend: name, keyId: id, sealed })
      const sealed = counted('encrypt', () => backend.seal(id, plaintext, contextBytes(context)))
      return sealed instanceof Promise ? sealed.then(wrap) : wrap(sealed)
    },

    isCurrent(sealed, keyId) {
      const { name, backend } = primary()
      const envelope = decodeEnvelope(sealed)
      if (envelope.backend !== name || envelope.keyId !== (keyId ?? backend.defaultKeyId)) return false
      return counted('status', () => backend.isCurrent(envelope.keyId, envelope.sealed))
    },

    requireKey(keyId) {
      const { backend } = primary()
      const found = counted('status', () => backend.getKey(keyId))
      const require = (key: unknown) => {
        if (key === undefined) throw kmsErrors.kms_key_not_found(`There is no key "${keyId}".`)
      }
      return found instanceof Promise ? found.then(require) : require(found)
    },

    async createKey(id) {
      const { backend } = primary()
      const problem = checkKeyId(id)
      if (problem !== undefined) throw kmsErrors.invalid_key_id(`The id of a key ${problem}.`)
      return describe(await counted('create', () => backend.createKey(id)), backend.defaultKeyId)
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
    const [first] = backends
    if (first === undefined) return notConfigured
    const { name, backend } = first
    return { isConfigured: true, backend: name, defaultKeyId: backend.defaultKeyId, ...backend.status() }
  }

  const findBackend = (name: string): ActiveBackend => {
    const found = backends.find(candidate => candidate.name === name)
    if (found !== undefined) return found
    onError('decrypt', 'not_configured')
    throw unavailable(
      kmsErrors.kms_unavailable(
        `This was sealed by the key management "${name}", which is not configured: ` +
          (name === 'builtin' ? 'set SVC_KMS_SECRET_KEY to its master key.' : 'configure it again.'),
      ),
    )
  }

  return {
    service,
    status: statusNow,
    use(active) {
      backends = active
    },
    stop() {
      backends = []
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
