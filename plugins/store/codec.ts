/** Converts documents to records and back: canonical JSON, ETag, sealed fields, migration, and the check against the schema. */
import { hash } from 'node:crypto'
import { canonicalJson, SealError } from 'svc/plugins/sealing/api'
import type { StoredDocument } from './api.ts'
import type { Declared } from './declaration.ts'
import { storeErrors } from './errors.ts'
import { encodeRecord, type RecordHead, readHead, readJson, UnreadableError } from './record.ts'
import type { Sealer } from './sealer.ts'
import { placeAt, secretPlaces } from './secret-fields.ts'

export const documentBytesMax = 1024 * 1024

export interface Encoded {
  /** The commit stamps time and sequence into it. */
  readonly record: Buffer
  readonly etag: string
}

/** The result of decoding a record: a document, or why it cannot be read. */
export interface Decoded {
  readonly sequence: number
  readonly document: StoredDocument<unknown> | undefined
  readonly problem: string | undefined
}

/** Throws `invalid_document` with the field, or `document_too_large`. */
export function encodeDocument(declared: Declared, id: string, value: unknown, sealer: Sealer): Encoded {
  const json = canonicalJson(value)
  if (Buffer.byteLength(json) > documentBytesMax) {
    throw storeErrors.document_too_large(`A document has at most ${documentBytesMax} bytes of JSON.`)
  }
  // Checks what will be read later, not the caller's object, which may have more than its JSON.
  const plain: unknown = JSON.parse(json)
  const problem = declared.check(plain)
  if (problem !== undefined) {
    throw storeErrors.invalid_document(problem.message, {
      extra: { Collection: declared.name, Field: problem.field },
    })
  }
  const { version } = declared
  const secrets = secretPlaces(plain, declared.secrets)
  if (secrets.length === 0) {
    const etag = etagOf(json)
    return { etag, record: encodeRecord({ isSealed: false, version, etag, json }) }
  }
  const sealed: Record<string, string> = {}
  for (const { container, name, pointer } of secrets) {
    const place = { collection: declared.name, id, pointer }
    const plaintext = Buffer.from(canonicalJson(container[name]))
    sealed[pointer] = sealer.seal(place, plaintext).toString('base64')
    container[name] = { hmac: sealer.fingerprint(place, plaintext) }
  }
  const etag = etagOf(canonicalJson(plain))
  for (const { container, name } of secrets) container[name] = null
  return { etag, record: encodeRecord({ isSealed: true, version, etag, json: canonicalJson([plain, sealed]) }) }
}

function etagOf(json: string): string {
  return hash('sha256', json).slice(0, 32)
}

/** Never throws because of the bytes: an unreadable record has a `problem`, a sentence without secrets. */
export function decodeDocument(declared: Declared, id: string, bytes: Uint8Array, sealer: Sealer): Decoded {
  let head: RecordHead | undefined
  try {
    head = readHead(bytes)
    const value = readValue(declared, id, bytes, head, sealer)
    const { etag, sequence, modifiedMs } = head
    return { sequence, problem: undefined, document: Object.freeze({ id, value, etag, sequence, modifiedMs }) }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    return { sequence: head?.sequence ?? 0, document: undefined, problem: error.message }
  }
}

function readValue(declared: Declared, id: string, bytes: Uint8Array, head: RecordHead, sealer: Sealer): unknown {
  const { version } = head
  if (version > declared.version) {
    throw new UnreadableError(`it has version ${version} of its schema; this release knows up to ${declared.version}`)
  }
  let value = readJson(bytes)
  if (head.isSealed) value = openSecrets(declared, id, value, sealer)
  if (version < declared.version && declared.migrate !== undefined) value = migrate(declared, value, version)
  const problem = declared.check(value)
  if (problem !== undefined) throw new UnreadableError(`it does not match its schema: ${problem.message}`)
  return deepFreeze(value)
}

function openSecrets(declared: Declared, id: string, json: unknown, sealer: Sealer): unknown {
  if (!Array.isArray(json) || json.length !== 2 || typeof json[1] !== 'object' || json[1] === null) {
    throw new UnreadableError('its sealed fields are missing')
  }
  const [value, sealed] = json as [unknown, Record<string, unknown>]
  for (const [pointer, text] of Object.entries(sealed)) {
    try {
      const { container, name } = placeAt(value, pointer)
      const place = { collection: declared.name, id, pointer }
      container[name] = JSON.parse(sealer.open(place, Buffer.from(String(text), 'base64')).toString())
    } catch (error) {
      if (error instanceof SealError || error instanceof RangeError || error instanceof SyntaxError) {
        throw new UnreadableError(`the sealed field ${pointer} cannot be opened`)
      }
      throw error
    }
  }
  return value
}

function migrate(declared: Declared, value: unknown, version: number): unknown {
  try {
    // Through text, because `migrate` may return shared objects, or values that JSON cannot represent.
    return JSON.parse(canonicalJson(declared.migrate!(value, version)))
  } catch {
    // Without the error's message, which may repeat parts of the document.
    throw new UnreadableError(`it cannot be migrated from version ${version} to ${declared.version}`)
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner)
    Object.freeze(value)
  }
  return value
}
