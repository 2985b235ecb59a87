/**
 * Keys in a file of mode 0600. Data keys are wrapped with AES-256-GCM; the id of the key and the context are authenticated with them, so
 * that a wrapped key opens under its key and in its place only.
 *
 *     0  12 bytes  nonce, random
 *    12            the wrapped key
 *       16 bytes   tag
 *
 * Every thread has the keys in memory. A key that a thread does not know may be new, created by another thread: then it reads the file again.
 * Writers replace the file as a whole, one after the other: each waits for the lock `<file>.lock`. The operating system releases the lock
 * of a process that crashes.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkKeyId, type KmsBackend, kmsErrors } from 'svc/plugins/kms/api'

const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32
const defaultKeyId = 'default'
/** Other writers hold the lock for the milliseconds of one write. */
const lockWaitMsMax = 10_000

interface Entry {
  readonly createdMs: number
  readonly key: Buffer
}

type Keys = ReadonlyMap<string, Entry>

/**
 * Creates the file with a new default key. A command of its own (`create.ts`), and nothing that a start of the server does: where the file
 * is missing by mistake, a new key would hide that and unwrap no existing data key. Throws `already_exists`.
 */
export function createKeyringFile(path: string): void {
  replaceFile(path, before => {
    if (before !== undefined) throw kmsErrors.already_exists(`The keyring ${path} exists already.`)
    return new Map([[defaultKeyId, newEntry()]])
  })
}

export function createKeyring(path: string): KmsBackend {
  let keys: Keys = new Map()

  const find = (id: string): Entry => {
    if (!keys.has(id)) keys = requireKeys(path)
    const entry = keys.get(id)
    if (entry === undefined) throw kmsErrors.kms_key_not_found(`There is no key "${id}" in ${path}.`)
    return entry
  }

  const add = (id: string): Entry => {
    const entry = newEntry()
    keys = replaceFile(path, before => {
      if (before === undefined) throw missing(path)
      if (before.has(id)) throw kmsErrors.already_exists()
      return new Map([...before, [id, entry]])
    })
    return entry
  }

  const wrap = (id: string, plaintext: Uint8Array, context: Buffer): Buffer => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', find(id).key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(boundTo(id, context))
    return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  return {
    defaultKeyId,
    start() {
      find(defaultKeyId)
    },
    generate(id, context) {
      const plaintext = randomBytes(keyBytes)
      return { plaintext, wrapped: wrap(id, plaintext, context) }
    },
    wrap,
    unwrap(id, wrapped, context) {
      const { key } = find(id)
      if (wrapped.length <= nonceBytes + tagBytes) throw kmsErrors.kms_open_failed()
      const bytes = Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.length)
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
      if (!keys.has(id)) keys = requireKeys(path)
      return keys.has(id) ? { id, createdMs: keys.get(id)!.createdMs } : undefined
    },
    async createKey(id) {
      const problem = checkKeyId(id)
      if (problem !== undefined) throw kmsErrors.invalid_key_id(`The id of a key ${problem}.`)
      return { id, createdMs: add(id).createdMs }
    },
    listKeys(startAfter, limit) {
      keys = requireKeys(path)
      const ids = [...keys.keys()].filter(id => id !== defaultKeyId && id > startAfter).sort()
      return ids.slice(0, limit).map(id => ({ id, createdMs: keys.get(id)!.createdMs }))
    },
    status: () => ({ endpoints: [], online: keys.has(defaultKeyId), error: '', version: '' }),
  }
}

function boundTo(id: string, context: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${id}\0`), context])
}

function newEntry(): Entry {
  return { createdMs: Date.now(), key: randomBytes(keyBytes) }
}

function missing(path: string): Error {
  return kmsErrors.kms_unavailable(
    `The keyring ${path} is missing. Restore it from a copy: objects that its keys protect cannot be read without it. Create a new one only for a new deployment.`,
  )
}

function requireKeys(path: string): Keys {
  const keys = readKeys(path)
  if (keys === undefined) throw missing(path)
  return keys
}

/** Undefined where the file is missing. Throws `kms_unavailable`, which names the file and nothing of its content. */
function readKeys(path: string): Keys | undefined {
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
    if (code === 'ENOENT') return undefined
    const reason = cause instanceof SyntaxError ? 'it is no JSON' : message
    throw kmsErrors.kms_unavailable(`The keyring ${path} cannot be used: ${reason}.`, { cause })
  }
}

/** Writes the keys that `change` returns to a new file, syncs it, and renames it to `path`. Waits for other writers. */
function replaceFile(path: string, change: (before: Keys | undefined) => Keys): Keys {
  const unlock = lock(path)
  try {
    const keys = change(readKeys(path))
    const stored = [...keys].map(([id, { createdMs, key }]) => [id, { createdMs, key: key.toString('base64') }])
    const beside = `${path}.new`
    // A writer that crashed may have left it, with any content and mode.
    rmSync(beside, { force: true })
    writeSynced(beside, `${JSON.stringify(Object.fromEntries(stored), undefined, 2)}\n`)
    renameSync(beside, path)
    syncFolder(dirname(path))
    return keys
  } finally {
    unlock()
  }
}

/** Waits until no other thread and no other process has the lock. An empty SQLite file, because Node.js has no other lock for files. */
function lock(path: string): () => void {
  try {
    const database = new DatabaseSync(`${path}.lock`, { timeout: lockWaitMsMax })
    try {
      database.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      database.close()
      throw error
    }
    return () => database.close()
  } catch (cause) {
    const { message } = cause as Error
    throw kmsErrors.kms_unavailable(`The keyring ${path} cannot be changed: ${path}.lock: ${message}.`, { cause })
  }
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
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
