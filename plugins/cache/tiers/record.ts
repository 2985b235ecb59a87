/**
 * Encodes the records of tiers: entries and blocks. The head decides whether a record may be used: it has checksums over the id, the head and the
 * body, and those of entries have the lifetimes and the purge number. A record that was changed, cut off or swapped counts as missing.
 *
 *     <CRC-32 of the id and all that follows> <seal, or ->\n<JSON>
 *
 * Fences are never written: they belong to the memory of one run. So an entry that is read back is confirmed at the origin before it is used, unless
 * `autoInvalidate` is off.
 */
import { crc32 } from '@node-rs/crc32'
import { type FoundRecord, type TierRecord, tierBodyBytesMax, tierHeadBytesMax } from '../api.ts'
import { type StoredRecord, unconfirmed, type Variant } from '../engine/variant.ts'
import type { Seal } from './seal.ts'

const version = 1
const empty = Buffer.alloc(0)

interface BodyFacts {
  readonly bytes: number
  readonly crc: number
}

/** The fields of an entry that purges compare. */
export interface HeadFacts {
  readonly space: string
  readonly host: string
  readonly path: string
  readonly tags: readonly string[]
  readonly purgeSequence: number
}

type StoredVariant = Omit<
  Variant,
  | 'body'
  | 'record'
  | 'lines'
  | 'vary'
  | 'etag'
  | 'lastModified'
  | 'softSequence'
  | 'checkedSequence'
  | 'checkedHost'
  | 'tags'
> & { readonly hasBlocks: boolean; readonly record: Omit<StoredRecord, 'fences'> }

interface Meta {
  readonly v: number
  readonly body: BodyFacts
  /** Missing if the record is a block. */
  readonly entry?: StoredVariant
}

const bytesOf = (id: string) => Buffer.from(id, 'latin1')

/** Undefined: head or body is too large for tiers. */
function encode(id: string, entry: StoredVariant | undefined, plain: Buffer, seal: Seal | undefined) {
  if (plain.length > tierBodyBytesMax) return undefined
  const idBytes = bytesOf(id)
  const sealed = seal?.close(idBytes, plain)
  const body = sealed?.body ?? plain
  const meta: Meta = { v: version, body: { bytes: body.length, crc: crc32(body) }, ...(entry && { entry }) }
  const rest = Buffer.from(`${sealed?.text ?? '-'}\n${JSON.stringify(meta)}`)
  const check = crc32(rest, crc32(idBytes)).toString(16).padStart(8, '0')
  const head = Buffer.concat([Buffer.from(`${check} `), rest])
  return head.length > tierHeadBytesMax ? undefined : { head, body }
}

function openHead(id: Buffer, head: Buffer): { readonly meta: Meta; readonly seal: string } | undefined {
  if (head.length < 12 || head.length > tierHeadBytesMax) return undefined
  const rest = head.subarray(9)
  const check = crc32(rest, crc32(id)).toString(16).padStart(8, '0')
  if (head.toString('latin1', 0, 9) !== `${check} `) return undefined
  const line = rest.indexOf(10)
  if (line < 0) return undefined
  try {
    const meta = JSON.parse(rest.toString('utf8', line + 1)) as Meta
    return meta.v === version ? { meta, seal: rest.toString('latin1', 0, line) } : undefined
  } catch {
    return undefined
  }
}

/** The decoded record, if it was written for this id and is unchanged; otherwise undefined. */
function open(id: string, { head, body, bodyCrc }: FoundRecord, seal: Seal) {
  const idBytes = bytesOf(id)
  const opened = openHead(idBytes, head)
  if (opened === undefined) return undefined
  const { meta, seal: text } = opened
  if (meta.body.bytes !== body.length || meta.body.crc !== (bodyCrc ?? crc32(body))) return undefined
  const plain = text === '-' ? body : seal.open(idBytes, text, body)
  return plain === undefined ? undefined : { meta, plain }
}

/** Encodes a block. `seal`: encrypts the body. */
export function encodeBlock(id: string, bytes: Buffer, seal: Seal | undefined): TierRecord | undefined {
  return encode(id, undefined, bytes, seal)
}

/** The block's bytes. If they were not encrypted, this is the body of the record itself, not a copy. */
export function decodeBlock(id: string, record: FoundRecord, seal: Seal): Buffer | undefined {
  const opened = open(id, record, seal)
  return opened === undefined || opened.meta.entry !== undefined ? undefined : opened.plain
}

/** Encodes an answer that comes from an object's record. Answers with `Vary` are not stored in tiers. */
export function encodeEntry(
  id: string,
  variant: Variant,
  record: StoredRecord,
  seal: Seal | undefined,
): TierRecord | undefined {
  const { status, body, sizeBytes, space, host, path, purgeSequence, freshMs } = variant
  const { staleWhileRevalidateMs, staleIfErrorMs, receivedMs, initialAgeMs } = variant
  const { identity, value, tags, isEncrypted } = record
  const entry: StoredVariant = {
    status,
    sizeBytes,
    space,
    host,
    path,
    purgeSequence,
    freshMs,
    staleWhileRevalidateMs,
    staleIfErrorMs,
    receivedMs,
    initialAgeMs,
    hasBlocks: body === undefined,
    record: { identity, value, tags, isEncrypted },
  }
  return encode(id, entry, body ?? empty, seal)
}

/** Decodes an entry, with a copy of the body. Its fences never hold until the entry is confirmed. */
export function decodeEntry(id: string, record: FoundRecord, seal: Seal): Variant | undefined {
  const opened = open(id, record, seal)
  if (opened?.meta.entry === undefined) return undefined
  const { hasBlocks, record: stored, ...entry } = opened.meta.entry
  if (!hasBlocks && opened.plain.length !== entry.sizeBytes) return undefined
  const own = Buffer.allocUnsafeSlow(opened.plain.length)
  opened.plain.copy(own)
  return {
    ...entry,
    body: hasBlocks ? undefined : own,
    record: { ...stored, fences: unconfirmed },
    lines: [],
    vary: [],
    etag: undefined,
    lastModified: undefined,
    tags: stored.tags,
    softSequence: 0,
    checkedSequence: 0,
    checkedHost: '',
  }
}

/** Undefined for a block. `damaged`: the record can never be used. */
export function readHead(id: Buffer, head: Buffer): HeadFacts | 'damaged' | undefined {
  const opened = openHead(id, head)
  if (opened === undefined) return 'damaged'
  const { entry } = opened.meta
  if (entry === undefined) return undefined
  if (!Array.isArray(entry?.record?.tags)) return 'damaged'
  const { space, host, path, purgeSequence } = entry
  return { space, host, path, purgeSequence, tags: entry.record.tags }
}
