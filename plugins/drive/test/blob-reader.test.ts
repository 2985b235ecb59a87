/** Readers of blobs in one thread: what they read from the disk, and that each buffer returns to their pool, once and not too early. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { BlobChunk, BlobRef } from 'svc/plugins/storage/api'
import { until } from 'svc/testing'
import t from 'tap'
import { anyBlobCheck } from '../api.ts'
import { blobBlockBytes, footerOffset } from '../blob-format.ts'
import { BlobReading, DriveBlobReader } from '../blob-reader.ts'
import { DriveBlobWriter } from '../blob-writer.ts'
import { BufferPool } from '../buffer-pool.ts'
import type { Disk, DiskFile } from '../disk.ts'
import { systemDrivePorts } from '../testing.ts'
import { makeBlobFiles } from './blob-files.ts'

const MIB = 1024 * 1024
const { disk: system } = systemDrivePorts()
const path = await mkdtemp(join(tmpdir(), 'svc-blobs-'))
t.teardown(() => rm(path, { recursive: true, force: true }))

/** Lengths of the reads since it was last emptied. */
const reads: number[] = []
/** Reads of at least a block wait for it. */
let gate: Promise<void> | undefined
const disk: Disk = {
  ...system,
  async open(name, options) {
    const file = await system.open(name, options)
    return new Proxy(file, {
      get(target, property) {
        const value = target[property as keyof DiskFile]
        if (property !== 'read') return typeof value === 'function' ? value.bind(target) : value
        return async (...parameters: Parameters<DiskFile['read']>) => {
          reads.push(parameters[2])
          if (parameters[2] >= blobBlockBytes) await gate
          return target.read(...parameters)
        }
      },
    })
  },
}
const files = await makeBlobFiles(disk, path)

const pool = new BufferPool(MIB, 4)
const source = randomBytes(6 * MIB + 777)

/** A blob of the first bytes of the source. */
async function blobOf(size: number): Promise<BlobRef> {
  const shared = { disk, files, pool, direct: false, isFull: () => false, onWritten() {}, onRefused() {} }
  const writer = new DriveBlobWriter(shared, undefined)
  await writer.write(source.subarray(0, size))
  return writer.finish()
}

async function readAll(shared: BlobReading, ref: BlobRef): Promise<Buffer> {
  const reader = new DriveBlobReader(shared, ref, 0, ref.size)
  const pieces: Buffer[] = []
  try {
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      pieces.push(Buffer.from(chunk.bytes))
      chunk.release()
    }
  } finally {
    reader.close()
  }
  return Buffer.concat(pieces)
}

async function flip(ref: BlobRef, at: number): Promise<void> {
  const file = await open(files.pathOf(ref.id), 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, at)
  byte[0]! ^= 4
  await file.write(byte, 0, 1, at)
  await file.close()
}

t.test('a blob of up to 1 MiB is read at once, together with its checksums', async t => {
  for (const size of [1, 4096, 300_000, MIB - 1, MIB]) {
    const ref = await blobOf(size)
    const shared = new BlobReading(disk, files, 8 * MIB)
    for (const check of [ref.check, anyBlobCheck]) {
      reads.length = 0
      t.ok((await readAll(shared, { ...ref, check })).equals(source.subarray(0, size)), `${size} bytes`)
      t.equal(reads.length, 1, 'one read')
    }
    reads.length = 0
    await readAll(shared, ref)
    t.same(reads, [size], 'the checksums of a known file are not read again')
    t.equal(shared.lentBytes, 0)
  }
})

t.test('any ranges, read by any number of readers that end early or not, with any pool', async t => {
  const refs = await Promise.all([1, 262_144, 262_145, 1_500_000, source.length].map(blobOf))
  const part = fc.double({ min: 0, max: 1, noNaN: true })
  const reading = fc.record({ blob: fc.nat(4), from: part, to: part, chunks: fc.oneof(fc.nat(4), fc.constant(99)) })
  await fc.assert(
    fc.asyncProperty(fc.array(reading, { maxLength: 6 }), fc.integer({ min: 1, max: 40 }), async (readings, blocks) => {
      const bytesMax = blocks * blobBlockBytes
      const shared = new BlobReading(disk, files, bytesMax)
      let most = 0
      await Promise.all(
        readings.map(async ({ blob, from, to, chunks }, index) => {
          const ref = refs[blob]!
          const start = Math.floor(Math.min(from, to) * ref.size)
          const end = Math.ceil(Math.max(from, to) * ref.size)
          const reader = new DriveBlobReader(shared, { ...ref, check: anyBlobCheck }, start, end - start)
          const held: BlobChunk[] = []
          let at = start
          for (let count = 0; count < chunks; count++) {
            const chunk = await reader.next()
            most = Math.max(most, shared.lentBytes + shared.freeBytes)
            if (chunk === undefined) break
            assert.ok(chunk.bytes.equals(source.subarray(at, at + chunk.bytes.length)))
            at += chunk.bytes.length
            // Of every second reader two chunks are used at the same time.
            held.push(chunk)
            if (held.length > index % 2) held.shift()!.release()
          }
          if (chunks === 99) assert.equal(at, end)
          reader.close()
          for (const chunk of held) chunk.release()
        }),
      )
      // What readers that were closed had begun.
      await until(() => shared.lentBytes === 0)
      assert.ok(
        most <= Math.max(2 * blobBlockBytes, bytesMax) + 2 * readings.length * (blobBlockBytes + 8192),
        `${most} bytes`,
      )
    }),
    { numRuns: 100 },
  )
  t.pass('all bytes as they were written, all buffers returned')
})

t.test('damage is found wherever it is, and no buffer is lost by it', async t => {
  for (const size of [700_000, 3 * MIB]) {
    for (const at of [0, 300_000, size - 1, footerOffset(size) + 3, footerOffset(size) + 33]) {
      const ref = await blobOf(size)
      await flip(ref, at)
      for (const check of [ref.check, anyBlobCheck]) {
        const shared = new BlobReading(disk, files, 8 * MIB)
        await t.rejects(readAll(shared, { ...ref, check }), { code: 'corrupt' }, `byte ${at} of ${size}`)
        // A read that was under way when the reader failed.
        await until(() => shared.lentBytes === 0)
      }
    }
    for (const [length, message] of [
      [size - 1, size > MIB ? /table/ : /too short/],
      [footerOffset(size) + 8, /table/],
    ] as const) {
      const ref = await blobOf(size)
      await truncate(files.pathOf(ref.id), length)
      await t.rejects(readAll(new BlobReading(disk, files, 8 * MIB), ref), { code: 'corrupt', message })
    }
  }
})

t.test('a buffer that is still being read into goes to nobody else, even if the checksums are damaged', async t => {
  const ref = await blobOf(3 * MIB)
  await flip(ref, footerOffset(ref.size) + 33)
  const shared = new BlobReading(disk, files, 8 * MIB)
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  reads.length = 0
  const reader = new DriveBlobReader(shared, ref, 0, MIB)
  let hasEnded = false
  const reading = reader.next().finally(() => {
    hasEnded = true
  })
  reading.catch(() => undefined)
  while (reads.length < 2) await new Promise(setImmediate)
  await new Promise(done => setTimeout(done, 50))
  t.notOk(hasEnded)
  t.ok(shared.lentBytes >= MIB, 'it is still lent')
  gate = undefined
  resolve()
  await t.rejects(reading, { code: 'corrupt', message: /table/ })
  reader.close()
  t.equal(shared.lentBytes, 0)
})
