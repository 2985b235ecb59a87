/**
 * Keys in a file of mode 0600. Data keys are wrapped with AES-256-GCM; the id of the key and the context are authenticated with them, so
 * that a wrapped key opens under its key and in its place only.
 *
 *     0  12 bytes  nonce, random
 *    12            the wrapped key
 *       16 bytes   tag
 *
 * Every thread has the keys in memory. A key that a thread does not know may be new, made by another thread: then it reads the file again.
 * The file is replaced as a whole, under the lock that the name of the new file is.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { checkKeyId, type KmsBackend, kmsErrors } from 'svc/plugins/kms/api'

const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32
const defaultKeyId = 'default'

interface Entry {
  readonly createdMs: number
  readonly key: Buffer
}

type Keys = ReadonlyMap<string, Entry>

export function createKeyring(path: string): KmsBackend {
  let keys: Keys = new Map()

  const find = (id: string): Entry => {
    if (!keys.has(id)) keys = readKeys(path)
    const entry = keys.get(id)
    if (entry === undefined) throw kmsErrors.kms_key_not_found(`There is no key "${id}" in ${path}.`)
    return entry
  }

  const add = (id: string): Entry => {
    const entry = { createdMs: Date.now(), key: randomBytes(keyBytes) }
    keys = replaceFile(path, () => {
      const before = readKeys(path)
      if (before.has(id)) throw kmsErrors.already_exists()
      return new Map([...before, [id, entry]])
    })
    return entry
  }

  const seal = (id: string, plaintext: Uint8Array, context: Buffer): Buffer => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', find(id).key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(boundTo(id, context))
    return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  return {
    defaultKeyId,
    start() {
      if (!existsSync(path)) add(defaultKeyId)
      find(defaultKeyId)
    },
    generate(id, context) {
      const plaintext = randomBytes(keyBytes)
      return { plaintext, sealed: seal(id, plaintext, context) }
    },
    seal,
    open(id, sealed, context) {
      const { key } = find(id)
      if (sealed.length <= nonceBytes + tagBytes) throw kmsErrors.kms_open_failed()
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
      const end = bytes.length - tagBytes
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      decipher.setAAD(boundTo(id, context)).setAuthTag(bytes.subarray(end))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()])
      } catch (cause) {
        throw kmsErrors.kms_open_failed(undefined, { cause })
      }
    },
    // Keys are never replaced by newer ones of the same id.
    isCurrent: () => true,
    getKey(id) {
      if (!keys.has(id)) keys = readKeys(path)
      return keys.has(id) ? { id, createdMs: keys.get(id)!.createdMs } : undefined
    },
    async createKey(id) {
      checkKeyId(id)
      return { id, createdMs: add(id).createdMs }
    },
    listKeys(startAfter, limit) {
      keys = readKeys(path)
      const ids = [...keys.keys()].filter(id => id !== defaultKeyId && id > startAfter).sort()
      return ids.slice(0, limit).map(id => ({ id, createdMs: keys.get(id)!.createdMs }))
    },
    status: () => ({ endpoints: [], online: keys.has(defaultKeyId), error: '', version: '' }),
  }
}

function boundTo(id: string, context: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${id}\0`), context])
}

/** Throws `kms_unavailable`, which names the file and not what is in it. */
function readKeys(path: string): Keys {
  try {
    if ((statSync(path).mode & 0o077) !== 0) throw new Error('others than its owner can read it; set its mode to 0600')
    const stored = JSON.parse(readFileSync(path, 'utf8')) as Record<string, { createdMs: number; key: string }>
    const entries = Object.entries(stored).map(([id, { createdMs, key }]): [string, Entry] => {
      const bytes = Buffer.from(key, 'base64')
      if (bytes.length !== keyBytes) throw new Error(`the key "${id}" has not ${keyBytes} bytes`)
      return [id, { createdMs, key: bytes }]
    })
    return new Map(entries)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return new Map()
    const reason = cause instanceof SyntaxError ? 'it is no JSON' : message
    throw kmsErrors.kms_unavailable(`The keyring ${path} cannot be used: ${reason}.`, { cause })
  }
}

/** Writes what `change` returns beside the file, syncs it, and gives it the name. Another writer meanwhile is an error. */
function replaceFile(path: string, change: () => Keys): Keys {
  const beside = `${path}.new`
  let file: number
  try {
    file = openSync(beside, 'wx', 0o600)
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'EEXIST' ? 'somebody else changes it' : 'it cannot be written'
    throw kmsErrors.kms_unavailable(`The keyring ${path} cannot be changed: ${reason} (${beside}).`, { cause })
  }
  try {
    const keys = change()
    const stored = [...keys].map(([id, { createdMs, key }]) => [id, { createdMs, key: key.toString('base64') }])
    writeSync(file, `${JSON.stringify(Object.fromEntries(stored), undefined, 2)}\n`)
    fsyncSync(file)
    renameSync(beside, path)
    syncFolder(dirname(path))
    return keys
  } catch (error) {
    rmSync(beside, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
