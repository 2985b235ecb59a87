/**
 * Compares stored bytes with known answers that another implementation computed from the documents (fixtures/known-answers.py), in both
 * directions: our bytes equal the answers, and the answers can be read. A difference means that objects of earlier releases could not be
 * read.
 */
import { createHash, createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EncryptionRequest, ObjectData, ObjectEncryption, ObjectPart } from 'svc/plugins/objects/api'
import { startServer } from 'svc/plugins/s3/testing'
import { createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { ChunkCipher } from '../chunks.ts'
import { contextOf, createDataKeys } from '../data-keys.ts'
import { Encryptor } from '../encryptor.ts'
import { decodeSealed, encodeSealed } from '../sealed.ts'
import { createTransform } from '../transform.ts'

interface StoredAnswer {
  readonly bytes: number
  readonly sha256: string
  /** Only of short ones: all stored bytes. */
  readonly hex?: string
  readonly tail?: string
}

interface VersionAnswer {
  readonly name: string
  readonly bucket: string
  readonly key: string
  readonly kind: EncryptionRequest['type']
  readonly keyId: string | null
  readonly context: Record<string, string> | null
  readonly size: number
  /** The random bytes for it, or for sealing its data key. Undefined: an object of an earlier release, which is only read. */
  readonly random?: string
  /** If it is not derived from the master key. */
  readonly dataKey?: string
  readonly sealed: string
  readonly stored: StoredAnswer
}

interface KnownAnswers {
  readonly masterKey: string
  readonly customerKey: string
  readonly streams: readonly {
    readonly dataKey: string
    readonly identity: string
    readonly partNumber: number
    readonly salt: string
    readonly size: number
    readonly stored: StoredAnswer
  }[]
  readonly versions: readonly VersionAnswer[]
  readonly sealedVersions: readonly VersionAnswer[]
  readonly formerVersions: readonly VersionAnswer[]
  readonly multipart: {
    readonly bucket: string
    readonly key: string
    readonly parts: readonly { readonly partNumber: number; readonly sizeBytes: number }[]
    readonly upload: string
    readonly salts: readonly string[]
    readonly sealed: string
    readonly stored: readonly StoredAnswer[]
  }
}

const file = join(import.meta.dirname, 'golden/known-answers.json')
const known: KnownAnswers = JSON.parse(readFileSync(file, 'utf8'))
const hex = (text: string) => Buffer.from(text, 'hex')
const plaintextOf = (size: number) => Buffer.from(Uint8Array.from({ length: size }, (_, i) => (i * 7 + size) % 251))

function describe(stored: Buffer): StoredAnswer {
  const described = { bytes: stored.length, sha256: createHash('sha256').update(stored).digest('hex') }
  return stored.length < 1024
    ? { ...described, hex: stored.toString('hex') }
    : { ...described, tail: stored.subarray(-32).toString('hex') }
}

/** The next random bytes; random bytes of the system if there are none. */
let scripted = Buffer.alloc(0)
const system = createSystemPorts()
const random = {
  ...system.random,
  bytes(size: number): Buffer {
    if (scripted.length === 0) return system.random.bytes(size)
    const drawn = Buffer.from(scripted.subarray(0, size))
    scripted = scripted.subarray(size)
    return drawn
  },
}
const masterKey = `main:${hex(known.masterKey).toString('base64')}`
const server = await startServer({ ports: { ...system, random }, config: { kms: { secretKey: masterKey } } })
t.teardown(() => server.stop())
const { kms } = server.kernel.services
await kms.createKey('photos')
const transform = createTransform(createDataKeys(kms, random), random, (_, requested) => requested)
const customerKey = createSecretKey(hex(known.customerKey))

function effectiveRequest({ kind, keyId, context }: VersionAnswer): EncryptionRequest {
  if (kind === 'SSE-C') return { type: kind, customerKey }
  return kind === 'SSE-S3' ? { type: kind } : { type: kind, kmsKeyId: keyId!, context: context ?? undefined }
}

async function readAll(data: ObjectData): Promise<Buffer> {
  if (data.kind === 'whole') return data.bytes
  const pieces: Buffer[] = []
  for (let piece = await data.next(); piece !== undefined; piece = await data.next()) {
    pieces.push(Buffer.from(piece.bytes))
    piece.release()
  }
  return Buffer.concat(pieces)
}

/** The whole version, and one byte less at both ends. */
async function readWays(
  version: {
    bucket: string
    key: string
    sizeBytes: number
    parts: readonly ObjectPart[]
    encryption: ObjectEncryption
  },
  key: typeof customerKey | undefined,
  stored: Buffer,
): Promise<Buffer[]> {
  const { sizeBytes } = version
  const from = (start: number, length: number): ObjectData => ({
    kind: 'whole',
    bytes: stored.subarray(start, start + length),
  })
  const ranges = [[0, sizeBytes], ...(sizeBytes > 2 ? [[1, sizeBytes - 2]] : [])] as [number, number][]
  return Promise.all(ranges.map(async ([at, count]) => readAll(await transform.read(version, at, count, key, from))))
}

t.test('streams are stored as the documents say', async t => {
  for (const { dataKey, identity, partNumber, salt, size, stored } of known.streams) {
    const place = { identity: hex(identity), partNumber, salt: hex(salt) }
    const cipher = new ChunkCipher(createSecretKey(hex(dataKey)), place)
    t.same(describe(new Encryptor(cipher).whole(plaintextOf(size))), stored, `${size} bytes of part ${partNumber}`)
  }
})

/** Reads the stored bytes of the answer, or `body` if the answer does not contain them. */
async function read(t: Test, answer: VersionAnswer, body: Buffer): Promise<void> {
  const { name, bucket, key, kind, size, stored } = answer
  // From the answer if it contains the bytes: then none of our bytes are read.
  const encryption: ObjectEncryption = { type: kind, kmsKeyId: answer.keyId ?? undefined, sealed: hex(answer.sealed) }
  const there = stored.hex === undefined ? body : hex(stored.hex)
  const usedKey = kind === 'SSE-C' ? customerKey : undefined
  const version = { bucket, key, sizeBytes: size, parts: [], encryption }
  const [all, middle] = await readWays(version, usedKey, there)
  t.ok(all!.equals(plaintextOf(size)), `${name}: read`)
  if (middle !== undefined) t.ok(middle.equals(plaintextOf(size).subarray(1, -1)), `${name}: a range`)
  const elsewhere = { ...version, key: `${key}x` }
  const code = kind === 'SSE-C' ? 'corrupt' : 'kms_open_failed'
  await t.rejects(readWays(elsewhere, usedKey, there), { code }, `${name}: not under another key`)
}

t.test('versions are stored as documented, and documented versions are read', async t => {
  for (const answer of known.versions) {
    const { name, bucket, key, size, stored } = answer
    scripted = hex(answer.random!)
    const write = (await transform.begin({ bucket, key }, effectiveRequest(answer)))!
    t.equal(scripted.length, 0, `${name}: no more and no less is drawn`)
    const body = write.whole(plaintextOf(size))
    t.equal(write.encryption.sealed.toString('hex'), answer.sealed, `${name}: what is kept of it`)
    t.same(describe(body), stored, `${name}: its bytes`)
    write.close()
    t.throws(() => write.whole(plaintextOf(size)), { message: /erased/ }, `${name}: not again`)
    await read(t, answer, body)
  }
})

t.test('data keys that were rewrapped, or wrapped by earlier releases, have the same bytes', async t => {
  for (const { name, bucket, key, keyId, random, dataKey, sealed } of known.sealedVersions) {
    const kept = decodeSealed(hex(sealed))
    scripted = hex(random!)
    const again = await kms.wrap(keyId!, hex(dataKey!), contextOf({ bucket, key }, kept.identity, kept.context))
    t.equal(scripted.length, 0, `${name}: no more and no less is drawn`)
    t.equal(again.toString('hex'), kept.dataKey.toString('hex'), name)
  }
})

t.test('versions that earlier releases stored are read', async t => {
  for (const answer of [...known.sealedVersions, ...known.formerVersions]) {
    const sealed = hex(answer.sealed)
    const salt = sealed[0] === 2 ? undefined : sealed.subarray(19, 27)
    const place = { identity: sealed.subarray(1, 17), partNumber: 0, salt }
    const cipher = new ChunkCipher(createSecretKey(hex(answer.dataKey!)), place)
    const body = new Encryptor(cipher).whole(plaintextOf(answer.size))
    t.same(describe(body), answer.stored, `${answer.name}: its bytes`)
    await read(t, answer, body)
  }
})

t.test('an upload in parts is completed and read as the documents say', async t => {
  const { bucket, key, parts, upload, salts, sealed, stored } = known.multipart
  const encryption: ObjectEncryption = { type: 'SSE-S3', sealed: hex(upload) }
  const bodies: Buffer[] = []
  const kept: ObjectEncryption[] = []
  for (const [index, { partNumber, sizeBytes }] of parts.entries()) {
    scripted = hex(salts[index]!)
    const write = await transform.beginPart({ bucket, key }, encryption, partNumber, undefined)
    bodies.push(write.whole(plaintextOf(sizeBytes)))
    kept.push(write.encryption)
    t.same(describe(bodies.at(-1)!), stored[index], `part ${partNumber}`)
  }
  const completed = transform.completeUpload(encryption, kept)
  t.equal(completed.sealed.toString('hex'), sealed)
  const plaintext = Buffer.concat(parts.map(({ sizeBytes }) => plaintextOf(sizeBytes)))
  const version = { bucket, key, sizeBytes: plaintext.length, parts: parts as readonly ObjectPart[] }
  const [all, middle] = await readWays({ ...version, encryption: completed }, undefined, Buffer.concat(bodies))
  t.ok(all!.equals(plaintext))
  t.ok(middle!.equals(plaintext.subarray(1, -1)))

  // As an attacker with access to the drive could: parts whose salts and bytes are in another order, or repeated.
  const kind = decodeSealed(completed.sealed)
  for (const order of [
    [3, 1, 2, 0],
    [0, 1, 2, 2],
  ]) {
    const picked = <T>(from: readonly T[]): T[] => order.map(index => from[index]!)
    const altered = {
      ...version,
      sizeBytes: picked(parts).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      parts: picked(parts as readonly ObjectPart[]),
      encryption: { ...completed, sealed: encodeSealed({ ...kind, salts: picked(kind.salts) }) },
    }
    await t.rejects(readWays(altered, undefined, Buffer.concat(picked(bodies))), { code: 'corrupt' }, `${order}`)
  }
})
