/**
 * The codec against bare AES-256-GCM, in one run: `node --conditions=svc-src plugins/encryption/test/perf/codec.ts [MiB]`. CPU is the
 * figure to trust.
 */
import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto'
import type { ObjectData } from 'svc/plugins/objects/api'
import { ChunkCipher } from '../../chunks.ts'
import { decryptStream, storedRange } from '../../decryptor.ts'
import { Encryptor } from '../../encryptor.ts'

const mebibytes = Number(process.argv[2] ?? 512)
const sizeBytes = mebibytes * 1024 ** 2
const key = createSecretKey(randomBytes(32))
const place = { identity: randomBytes(16), partNumber: 0, salt: randomBytes(8) }
const socketChunk = randomBytes(65_536)
const driveChunk = randomBytes(524_288)

async function measure(name: string, run: () => Promise<void> | void): Promise<void> {
  await run()
  const before = process.cpuUsage()
  const start = process.hrtime.bigint()
  await run()
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const { user, system } = process.cpuUsage(before)
  const cpu = (user + system) / 1e6
  const gigabytes = sizeBytes / 1e9
  console.log(
    `${name.padEnd(34)} ${(gigabytes / seconds).toFixed(2)} GB/s  ${(gigabytes / cpu).toFixed(2)} GB per CPU second`,
  )
}

await measure('bare AES-256-GCM, 64 KiB updates', () => {
  const cipher = createCipheriv('aes-256-gcm', key, Buffer.alloc(12))
  for (let at = 0; at < sizeBytes; at += socketChunk.length) cipher.update(socketChunk)
  cipher.final()
})

await measure('encrypting', async () => {
  const encryptor = new Encryptor(new ChunkCipher(key, place))
  const emit = () => undefined
  for (let at = 0; at < sizeBytes; at += socketChunk.length) await encryptor.push(socketChunk, emit)
  await encryptor.end(emit)
})

/** A chunk decrypts only in its place, so all stored bytes are made in advance, in memory. */
const stored: Buffer[] = []
{
  const encryptor = new Encryptor(new ChunkCipher(key, place))
  let block = Buffer.alloc(driveChunk.length)
  let filled = 0
  const emit = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const count = bytes.copy(block, filled, at)
      at += count
      filled += count
      if (filled < block.length) continue
      stored.push(block)
      block = Buffer.alloc(driveChunk.length)
      filled = 0
    }
  }
  for (let at = 0; at < sizeBytes; at += socketChunk.length) await encryptor.push(socketChunk, emit)
  await encryptor.end(emit)
  stored.push(block.subarray(0, filled))
}

await measure('decrypting', async () => {
  let index = 0
  const source: ObjectData & { kind: 'stream' } = {
    kind: 'stream',
    next: async () => (index < stored.length ? { bytes: stored[index++]!, release() {} } : undefined),
    close() {},
  }
  const streams = [{ sizeBytes, cipher: () => new ChunkCipher(key, place) }]
  const data = decryptStream(streams, storedRange(streams, 0, sizeBytes), sizeBytes, source) as typeof source
  for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) chunk.release()
})
