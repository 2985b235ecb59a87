/**
 * Packs an answer of an object into the bytes of one `ArrayBuffer`, because a tree of small JavaScript objects takes three times the memory. Fields
 * that many answers share (`Kind`, the host) are numbers of a table.
 *
 *     <times, numbers: 54 bytes> <fences, 6 bytes each> <JSON: path, tags> <JSON: identity, leaves of the value> <body>
 *
 * A `PackedVariant` is a view of such bytes. It decodes each field once, when it is read, and writes changes to the buffer, so a view may be dropped
 * at any time. In the second JSON text what repeats is replaced by characters that no JSON has (`shorten`).
 */
import type { FenceList } from '../fence/fences.ts'
import { type Leaf, putTogether, type Shape, takeApart } from '../memory/value-shape.ts'
import { type StoredRecord, unconfirmed, type Variant } from './variant.ts'

/** Fields that many answers share. */
interface Kind {
  readonly space: string
  readonly status: number
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  readonly isEncrypted: boolean
  readonly hasBody: boolean
  readonly shape: Shape
}

const kindsMax = 4096
const hostsMax = 4096
const kinds: Kind[] = []
const kindNumbers = new Map<string, number>()
const hosts: string[] = []
const hostNumbers = new Map<string, number>()

/** Undefined: the table is full. */
function numberOf<T>(table: T[], numbers: Map<string, number>, max: number, text: string, item: T): number | undefined {
  const known = numbers.get(text)
  if (known !== undefined || table.length >= max) return known
  numbers.set(text, table.length)
  return table.push(item) - 1
}

const at = {
  receivedMs: 0,
  initialAgeMs: 8,
  freshMs: 16,
  purgeSequence: 24,
  softSequence: 30,
  sizeBytes: 36,
  placeBytes: 42,
  valueBytes: 44,
  kind: 48,
  host: 50,
  /** Number of fences that there is room for. */
  fenceRoom: 52,
  /** 1: the fences there are valid. 0: the answer has to be confirmed. */
  hasFences: 53,
  fences: 54,
} as const
const fenceBytes = 6
const fencesMax = 255
/** In the place of a host's number: the host is the last text of the first JSON text. */
const ownHost = 0xffff
const placeBytesMax = 0xffff

const noLines: Variant['lines'] = []

/**
 * The path as JSON texts have it, without its first slash. Undefined if it is too short to be worth replacing, or does not begin with a slash: then a
 * character could be cut in two.
 */
function repeated(path: string): string | undefined {
  if (!path.startsWith('/')) return undefined
  const inner = JSON.stringify(path).slice(2, -1)
  return inner.length > 1 ? inner : undefined
}

const pathMark = '\u0001'
const sequenceMark = '\u0002'
/** The sequence of an object at the end of the identity, which is the first text. */
const sequenceOfIdentity = /^\["(?:[^"\\]|\\.)* (\d{8,16})"/
const typeMark = '\u0003'
/** Each is a letter of the alphabet. */
const types = [
  ...['text/html', 'text/html; charset=utf-8', 'text/css', 'text/css; charset=utf-8', 'text/javascript'],
  ...['text/javascript; charset=utf-8', 'application/javascript', 'application/json', 'text/plain'],
  ...['text/plain; charset=utf-8', 'text/xml', 'application/xml', 'image/png', 'image/jpeg', 'image/webp'],
  ...['image/avif', 'image/gif', 'image/svg+xml', 'font/woff2', 'application/pdf', 'application/zip'],
  ...['application/octet-stream', 'binary/octet-stream', 'application/wasm', 'video/mp4', 'audio/mpeg'],
]
const letterA = 0x41
const lettersOfTypes = new Map(types.map((type, index) => [`"${type}"`, String.fromCharCode(letterA + index)]))
const typeText = /"(?:text|application|image|font|binary|video|audio)\/[\w+-]+(?:; charset=utf-8)?"/
const markedType = new RegExp(`${typeMark}([A-Z])`)

/** Replaces the path, the first content type if it is a common one, and the object's sequence where it stands again. */
function shorten(text: string, path: string): string {
  const name = repeated(path)
  const named = name === undefined ? text : text.replaceAll(name, pathMark)
  const short = named.replace(typeText, type => {
    const letter = lettersOfTypes.get(type)
    return letter === undefined ? type : typeMark + letter
  })
  const sequence = sequenceOfIdentity.exec(short)?.[1]
  return sequence === undefined ? short : short.replaceAll(`,${sequence}`, sequenceMark)
}

function lengthen(short: string, path: string): string {
  const typed = short.replace(markedType, (_, letter: string) => `"${types[letter.charCodeAt(0) - letterA]}"`)
  const sequence = typed.includes(sequenceMark) ? sequenceOfIdentity.exec(typed)?.[1] : undefined
  const counted = sequence === undefined ? typed : typed.replaceAll(sequenceMark, `,${sequence}`)
  const name = repeated(path)
  return name === undefined ? counted : counted.replaceAll(pathMark, () => name)
}

/** Below 2^48, which six bytes hold. */
function setUint48(view: DataView, offset: number, value: number): void {
  view.setUint16(offset, Math.floor(value / 2 ** 32))
  view.setUint32(offset + 2, value % 2 ** 32)
}

function getUint48(view: DataView, offset: number): number {
  return view.getUint16(offset) * 2 ** 32 + view.getUint32(offset + 2)
}

/**
 * Undefined: the answer cannot be packed, for example because it is not of an object, or the table of kinds is full. `allocate` returns memory of at
 * least so many bytes, with any content.
 */
export function pack(
  variant: Variant,
  allocate: (bytes: number) => ArrayBuffer = bytes => new ArrayBuffer(bytes),
): PackedVariant | undefined {
  const { record, body, path, vary, lines, etag, lastModified } = variant
  if (record === undefined || vary.length > 0 || lines.length > 0 || record.fences.length / 2 > fencesMax)
    return undefined
  if (etag !== undefined || lastModified !== undefined) return undefined
  const { space, status, staleWhileRevalidateMs, staleIfErrorMs } = variant
  const leaves: Leaf[] = [record.identity]
  const shape = takeApart(record.value, leaves)
  const { isEncrypted } = record
  const kind: Kind = {
    space,
    status,
    staleWhileRevalidateMs,
    staleIfErrorMs,
    isEncrypted,
    hasBody: body !== undefined,
    shape,
  }
  const kindNumber = numberOf(kinds, kindNumbers, kindsMax, JSON.stringify(kind), kind)
  if (kindNumber === undefined) return undefined
  const host = numberOf(hosts, hostNumbers, hostsMax, variant.host, variant.host)
  const place = JSON.stringify([path, ...record.tags, ...(host === undefined ? [variant.host] : [])])
  const value = shorten(JSON.stringify(leaves), path)

  const fenceRoom = record.fences.length / 2
  const [placeBytes, valueBytes] = [Buffer.byteLength(place), Buffer.byteLength(value)]
  if (placeBytes > placeBytesMax) return undefined
  const textsAt = at.fences + fenceRoom * fenceBytes
  const length = textsAt + placeBytes + valueBytes + (body?.length ?? 0)
  const buffer = allocate(length)
  const bytes = Buffer.from(buffer, 0, length)
  bytes.write(place, textsAt)
  bytes.write(value, textsAt + placeBytes)
  body?.copy(bytes, textsAt + placeBytes + valueBytes)
  const view = new DataView(buffer)
  setUint48(view, at.sizeBytes, variant.sizeBytes)
  setUint48(view, at.purgeSequence, variant.purgeSequence)
  view.setUint16(at.placeBytes, placeBytes)
  view.setUint32(at.valueBytes, valueBytes)
  view.setUint16(at.kind, kindNumber)
  view.setUint16(at.host, host ?? ownHost)
  view.setUint8(at.fenceRoom, fenceRoom)
  const packed = new PackedVariant(buffer, 0, length)
  packed.receivedMs = variant.receivedMs
  packed.initialAgeMs = variant.initialAgeMs
  packed.freshMs = variant.freshMs
  packed.softSequence = variant.softSequence
  packed.fences = record.fences
  return packed
}

export class PackedVariant implements Variant {
  readonly buffer: ArrayBuffer
  readonly lines = noLines
  readonly vary = noLines
  readonly etag = undefined
  readonly lastModified = undefined
  /** Of this view only: a new view compares the purges again. */
  checkedSequence = 0
  checkedHost = ''
  readonly #view: DataView
  readonly #bytes: Buffer
  readonly #kind: Kind
  #texts: readonly string[] | undefined
  #body: Buffer | undefined
  #record: PackedRecord | undefined
  #fences: FenceList | undefined

  /** A view of a part of a buffer, or of all of it. */
  constructor(buffer: ArrayBuffer, offset = 0, length = buffer.byteLength) {
    this.buffer = buffer
    this.#view = new DataView(buffer, offset, length)
    this.#bytes = Buffer.from(buffer, offset, length)
    this.#kind = kinds[this.#view.getUint16(at.kind)] as Kind
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  /** The same answer in a buffer of its own. */
  own(): PackedVariant {
    if (this.#bytes.length === this.buffer.byteLength) return this
    const buffer = new ArrayBuffer(this.#bytes.length)
    this.#bytes.copy(new Uint8Array(buffer))
    return new PackedVariant(buffer)
  }

  get space(): string {
    return this.#kind.space
  }

  get status(): number {
    return this.#kind.status
  }

  get staleWhileRevalidateMs(): number {
    return this.#kind.staleWhileRevalidateMs
  }

  get staleIfErrorMs(): number {
    return this.#kind.staleIfErrorMs
  }

  get host(): string {
    const number = this.#view.getUint16(at.host)
    return (number === ownHost ? this.#place().at(-1) : hosts[number]) as string
  }

  get path(): string {
    return this.#place()[0] as string
  }

  get tags(): readonly string[] {
    const texts = this.#place()
    return texts.slice(1, this.#view.getUint16(at.host) === ownHost ? -1 : undefined)
  }

  get sizeBytes(): number {
    return getUint48(this.#view, at.sizeBytes)
  }

  get purgeSequence(): number {
    return getUint48(this.#view, at.purgeSequence)
  }

  get softSequence(): number {
    return getUint48(this.#view, at.softSequence)
  }

  set softSequence(number: number) {
    setUint48(this.#view, at.softSequence, number)
  }

  get freshMs(): number {
    return this.#view.getFloat64(at.freshMs)
  }

  set freshMs(ms: number) {
    this.#view.setFloat64(at.freshMs, ms)
  }

  get receivedMs(): number {
    return this.#view.getFloat64(at.receivedMs)
  }

  set receivedMs(ms: number) {
    this.#view.setFloat64(at.receivedMs, ms)
  }

  get initialAgeMs(): number {
    return this.#view.getFloat64(at.initialAgeMs)
  }

  set initialAgeMs(ms: number) {
    this.#view.setFloat64(at.initialAgeMs, ms)
  }

  get body(): Buffer | undefined {
    if (!this.#kind.hasBody) return undefined
    this.#body ??= this.#bytes.subarray(this.#textsAt() + this.#placeBytes() + this.#view.getUint32(at.valueBytes))
    return this.#body
  }

  get record(): StoredRecord {
    this.#record ??= this.#readRecord()
    return this.#record
  }

  get fences(): FenceList {
    this.#fences ??= this.#readFences()
    return this.#fences
  }

  /** If the buffer has no room for the list, only this view has it: a new view has to confirm the answer again. */
  set fences(fences: FenceList) {
    this.#fences = fences
    const hasRoom = fences.every(Number.isInteger) && fences.length === 2 * this.#view.getUint8(at.fenceRoom)
    this.#view.setUint8(at.hasFences, hasRoom ? 1 : 0)
    if (!hasRoom) return
    for (let i = 0; i < fences.length; i += 2) {
      const offset = at.fences + (i / 2) * fenceBytes
      this.#view.setUint16(offset, fences[i] as number)
      this.#view.setInt32(offset + 2, fences[i + 1] as number)
    }
  }

  #readFences(): FenceList {
    if (this.#view.getUint8(at.hasFences) === 0) return unconfirmed
    const fences: number[] = []
    for (let i = 0; i < this.#view.getUint8(at.fenceRoom); i++) {
      const offset = at.fences + i * fenceBytes
      fences.push(this.#view.getUint16(offset), this.#view.getInt32(offset + 2))
    }
    return fences
  }

  #readRecord(): PackedRecord {
    const start = this.#textsAt() + this.#placeBytes()
    const text = this.#text(start, this.#view.getUint32(at.valueBytes))
    const leaves = JSON.parse(lengthen(text, this.path)) as readonly Leaf[]
    return new PackedRecord(this, leaves, this.#kind)
  }

  /** The first JSON text: path, tags and, if the table of hosts lacks it, the host. */
  #place(): readonly string[] {
    this.#texts ??= JSON.parse(this.#text(this.#textsAt(), this.#placeBytes())) as readonly string[]
    return this.#texts
  }

  #text(start: number, length: number): string {
    return this.#bytes.utf8Slice(start, start + length)
  }

  #textsAt(): number {
    return at.fences + this.#view.getUint8(at.fenceRoom) * fenceBytes
  }

  #placeBytes(): number {
    return this.#view.getUint16(at.placeBytes)
  }
}

class PackedRecord implements StoredRecord {
  readonly identity: string
  readonly value: unknown
  readonly tags: readonly string[]
  readonly isEncrypted: boolean
  readonly #owner: PackedVariant

  constructor(owner: PackedVariant, leaves: readonly Leaf[], { shape, isEncrypted }: Kind) {
    this.#owner = owner
    this.identity = leaves[0] as string
    this.value = putTogether(shape, leaves, 1)
    this.tags = owner.tags
    this.isEncrypted = isEncrypted
  }

  get fences(): FenceList {
    return this.#owner.fences
  }

  set fences(fences: FenceList) {
    this.#owner.fences = fences
  }
}
