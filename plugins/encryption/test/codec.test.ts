/** The codec alone: every range is decrypted, and altered, swapped, truncated or moved chunks are detected. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import type { ObjectData } from 'svc/plugins/objects/api'
import { createSeededRandom, seeded } from 'svc/testing'
import t from 'tap'
import { ChunkCipher, chunkBytes, chunkCount, plainChunkBytes, storedBytes } from '../chunks.ts'
import { decryptStream, decryptWhole, type EncryptedStream, storedRange } from '../decryptor.ts'
import { Encryptor } from '../encryptor.ts'
import { decodeSealed, encodeSealed } from '../sealed.ts'

const source = createSeededRandom(7)
const bytes = source.bytes(5 * plainChunkBytes)
const dataKey = createSecretKey(source.bytes(32))
const identity = source.bytes(16)
const corrupt = { code: 'corrupt' }

interface Stored {
  readonly stream: EncryptedStream
  readonly plaintext: Buffer
  readonly stored: Buffer
}

/** The bytes as a socket would deliver them, in pieces of that size. */
async function store(plaintext: Buffer, partNumber: number, pieceBytes = 60_000): Promise<Stored> {
  const place = { identity, partNumber, salt: partNumber === 0 ? undefined : source.bytes(8) }
  const encryptor = new Encryptor(new ChunkCipher(dataKey, place))
  const pieces: Buffer[] = []
  const emit = (stored: Buffer) => {
    pieces.push(Buffer.from(stored))
    return pieces.length % 2 === 0 ? undefined : Promise.resolve()
  }
  for (let at = 0; at < plaintext.length; at += pieceBytes) {
    // The caller may reuse the memory of a piece once it was taken.
    const piece = Buffer.from(plaintext.subarray(at, at + pieceBytes))
    await encryptor.push(piece, emit)
    piece.fill(0)
  }
  await encryptor.end(emit)
  const stored = Buffer.concat(pieces)
  const stream = { sizeBytes: plaintext.length, cipher: () => new ChunkCipher(dataKey, place) }
  return { stream, plaintext, stored }
}

function streamOf(stored: Buffer, pieceBytes: number): Extract<ObjectData, { kind: 'stream' }> & { released: number } {
  let at = 0
  return {
    kind: 'stream',
    released: 0,
    async next() {
      if (at >= stored.length) return undefined
      const piece = Buffer.from(stored.subarray(at, at + pieceBytes))
      at += pieceBytes
      const release = () => {
        piece.fill(0xee)
        this.released++
      }
      return { bytes: piece, release }
    },
    close() {},
  }
}

async function read(parts: readonly Stored[], all: Buffer, start: number, length: number, pieceBytes?: number) {
  const streams = parts.map(({ stream }) => stream)
  const range = storedRange(streams, start, length)
  const stored = all.subarray(range.start, range.start + range.length)
  if (pieceBytes === undefined) return decryptWhole(streams, range, length, stored)
  const data = decryptStream(streams, range, length, streamOf(stored, pieceBytes)) as ReturnType<typeof streamOf>
  const chunks: Buffer[] = []
  for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
    chunks.push(Buffer.from(chunk.bytes))
    chunk.release()
  }
  data.close()
  return Buffer.concat(chunks)
}

t.test('computed sizes equal the sizes as stored', async t => {
  const sizes = [0, 1, plainChunkBytes - 1, plainChunkBytes, plainChunkBytes + 1, 3 * plainChunkBytes]
  for (const size of sizes) {
    const { stored, stream } = await store(bytes.subarray(0, size), 0)
    t.equal(stored.length, storedBytes(size), `${size} bytes`)
    t.ok((await read([{ stream } as Stored], stored, 0, size)).equals(bytes.subarray(0, size)))
    const whole = new Encryptor(stream.cipher()).whole(bytes.subarray(0, size))
    t.ok(whole.equals(stored), 'at once or in pieces')
  }
  t.equal(storedBytes(plainChunkBytes), chunkBytes)
})

t.test('any range of any parts decrypts to that range of the plaintext', t =>
  seeded(t, async random => {
    const sizes = [0, 1, 70_000, plainChunkBytes, 2 * plainChunkBytes, 0, 2 * plainChunkBytes + 1, 9]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...sizes), { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.nat(),
        fc.constantFrom(undefined, 262_144, 65_536, 1000, 100_000),
        async (partSizes, at, count, pieceBytes) => {
          const parts = await Promise.all(
            partSizes.map((size, i) => store(bytes.subarray(i, i + size), partSizes.length === 1 ? 0 : i + 1)),
          )
          const plaintext = Buffer.concat(parts.map(part => part.plaintext))
          const all = Buffer.concat(parts.map(part => part.stored))
          const start = plaintext.length === 0 ? 0 : at % plaintext.length
          const length = plaintext.length === 0 ? 0 : 1 + (count % (plaintext.length - start))
          const got = await read(parts, all, start, length, pieceBytes)
          return got.equals(plaintext.subarray(start, start + length))
        },
      ),
      { numRuns: 150, seed: random.integer(2 ** 31) },
    )
  }),
)

t.test('a range reads only the chunks that contain it', async t => {
  const streams = [{ sizeBytes: 5 * plainChunkBytes }]
  t.match(storedRange(streams, 0, 1), { start: 0, length: chunkBytes })
  t.match(storedRange(streams, plainChunkBytes - 1, 2), { start: 0, length: 2 * chunkBytes })
  t.match(storedRange(streams, plainChunkBytes, plainChunkBytes), { start: chunkBytes, length: chunkBytes })
  t.match(storedRange(streams, 5 * plainChunkBytes - 1, 1), { start: 4 * chunkBytes, length: chunkBytes })
})

t.test('altered bytes are detected before any of them is returned', async t => {
  const first = await store(bytes.subarray(0, 3 * plainChunkBytes), 1)
  const second = await store(bytes.subarray(0, 3 * plainChunkBytes), 2)
  const again = await store(bytes.subarray(0, 3 * plainChunkBytes), 1)
  const { stream, stored } = first
  const size = stream.sizeBytes
  const whole = (altered: Buffer, streams: readonly EncryptedStream[] = [stream], length = size) =>
    decryptWhole(streams, { start: 0, length: altered.length, streamIndex: 0, chunkIndex: 0, skip: 0 }, length, altered)
  t.ok(whole(stored).equals(first.plaintext))

  const places = [
    0,
    1,
    plainChunkBytes - 1,
    plainChunkBytes,
    chunkBytes - 1,
    chunkBytes,
    2 * chunkBytes,
    stored.length - 1,
  ]
  for (const at of places) {
    for (const bit of [1, 128]) {
      const altered = Buffer.from(stored)
      altered[at]! ^= bit
      t.throws(() => whole(altered), corrupt, `bit ${bit} of byte ${at}`)
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(stored.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const altered = Buffer.from(stored)
      altered[at]! ^= mask
      try {
        whole(altered)
        return false
      } catch {
        return true
      }
    }),
    { numRuns: 300 },
  )

  const chunk = (of: Buffer, index: number) => of.subarray(index * chunkBytes, (index + 1) * chunkBytes)
  const join = (...chunks: Buffer[]) => Buffer.concat(chunks)
  const of = (index: number) => chunk(stored, index)
  t.throws(() => whole(join(of(1), of(0), of(2))), corrupt, 'reordered')
  t.throws(() => whole(join(of(0), of(0), of(2))), corrupt, 'repeated')
  t.throws(() => whole(join(of(0), chunk(second.stored, 1), of(2))), corrupt, 'of another part')
  t.throws(() => whole(join(of(0), chunk(again.stored, 1), of(2))), corrupt, 'of the same part, sent again')
  const other = await store(bytes.subarray(0, 3 * plainChunkBytes), 1)
  t.throws(() => whole(other.stored), corrupt, 'with another salt')

  // Truncated at the end of a chunk, with a record to match: the last chunk is not marked as the last one.
  const shorter = { ...stream, sizeBytes: 2 * plainChunkBytes }
  t.throws(() => whole(join(of(0), of(1)), [shorter], shorter.sizeBytes), corrupt, 'cut off')
  const none = { ...stream, sizeBytes: 0 }
  t.throws(() => whole(stored.subarray(0, 16), [none], 0), corrupt, 'emptied')
  const longer = { ...stream, sizeBytes: 4 * plainChunkBytes }
  t.throws(() => whole(join(of(0), of(1), of(2), of(2)), [longer], longer.sizeBytes), corrupt, 'made longer')
  for (const cut of [0, 15, chunkBytes - 1]) t.throws(() => whole(stored.subarray(0, cut)), corrupt)

  // A stream that ends early, or has surplus bytes, is not taken for a shorter object.
  const range = storedRange([stream], 0, size)
  const early = decryptStream([stream], range, size, streamOf(stored.subarray(0, 2 * chunkBytes), 50_000))
  await t.rejects(async () => {
    for (let i = 0; i < 3; i++) await (early as ReturnType<typeof streamOf>).next()
  }, corrupt)
  t.equal(chunkCount(size), 3)
})

t.test('a stream releases every piece, also when it is closed early', async t => {
  const { stream, stored } = await store(bytes.subarray(0, 4 * plainChunkBytes), 0)
  for (const reads of [0, 1, 3, 5]) {
    const from = streamOf(stored, 100_000)
    let given = 0
    const { next } = from
    from.next = async () => {
      const piece = await next.call(from)
      if (piece !== undefined) given++
      return piece
    }
    const data = decryptStream([stream], storedRange([stream], 0, stream.sizeBytes), stream.sizeBytes, from)
    if (data.kind !== 'stream') throw new Error('a stream was expected')
    for (let i = 0; i < reads; i++) (await data.next())?.release()
    data.close()
    data.close()
    t.equal(from.released, given, `after ${reads} chunks`)
    t.equal(await data.next(), undefined)
  }
})

t.test('a piece that arrives after the stream was closed is released', async t => {
  const { stream, stored } = await store(bytes.subarray(0, 4 * plainChunkBytes), 0)
  // For a chunk that begins with the piece, and for the rest of a chunk that began in the piece before.
  for (const [pieceBytes, reads] of [
    [100_000, 0],
    [100_000, 1],
    [chunkBytes, 2],
    [stored.length, 0],
  ] as const) {
    const from = streamOf(stored, pieceBytes)
    let given = 0
    let arrive: (() => void) | undefined
    let isLate = false
    const { next } = from
    from.next = async () => {
      const piece = await next.call(from)
      if (isLate) await new Promise<void>(resolve => (arrive = resolve))
      if (piece !== undefined) given++
      return piece
    }
    const data = decryptStream([stream], storedRange([stream], 0, stream.sizeBytes), stream.sizeBytes, from)
    if (data.kind !== 'stream') throw new Error('a stream was expected')
    for (let i = 0; i < reads; i++) (await data.next())?.release()
    isLate = true
    const pending = data.next()
    await new Promise(setImmediate)
    data.close()
    t.type(arrive, 'function', 'the source was asked')
    arrive!()
    t.equal(await pending, undefined)
    t.equal(from.released, given, `pieces of ${pieceBytes} bytes, closed after ${reads} chunks`)
  }
})

t.test('stored encryption fields are decoded, and truncated ones are refused', t => {
  for (const version of [
    { isDirect: false, identity, salts: [], context: undefined, verifier: undefined, dataKey: Buffer.from('sealed') },
    { isDirect: true, identity, salts: [], context: { a: '1' }, verifier: source.bytes(32), dataKey: source.bytes(90) },
    {
      isDirect: false,
      identity,
      salts: [source.bytes(8), source.bytes(8)],
      context: { a: 'ü' },
      verifier: source.bytes(32),
      dataKey: source.bytes(90),
    },
    {
      isDirect: false,
      identity,
      salts: Array.from({ length: 10_000 }, () => source.bytes(8)),
      context: undefined,
      verifier: undefined,
      dataKey: source.bytes(9),
    },
  ]) {
    const encoded = encodeSealed(version)
    t.same(decodeSealed(encoded), version)
    for (const length of [0, 1, 10, 18]) t.throws(() => decodeSealed(encoded.subarray(0, length)), corrupt)
  }
  t.throws(() => decodeSealed(Buffer.of(3, ...identity)), corrupt)
  const salted = { isDirect: false, identity, salts: [source.bytes(8)], context: undefined, verifier: undefined }
  const encoded = encodeSealed({ ...salted, dataKey: source.bytes(90) })
  encoded[0] = 2
  t.throws(() => decodeSealed(encoded), corrupt, 'a data key that encrypts has no salts')
  t.throws(() => encodeSealed({ ...salted, isDirect: true, dataKey: source.bytes(90) }), corrupt)
  t.end()
})
