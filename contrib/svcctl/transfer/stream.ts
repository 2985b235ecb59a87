/** Objects and standard streams. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { type Checksum, createChecksum } from '../checksums/checksums.ts'
import type { S3Client } from '../s3/client.ts'
import { headObject, type ObjectName } from '../s3/object.ts'
import { readObject } from '../s3/read-object.ts'
import { type Expected, expectedDigest, requireDigest } from './digest.ts'
import type { UploadSource } from './upload.ts'

/** Writes at the reader's speed. Written bytes cannot be withdrawn: a wrong checksum is an error at the end. */
export async function writeToStream(
  client: S3Client,
  name: ObjectName,
  stream: Writable,
  label: string,
): Promise<number> {
  // The checksum has to be known before the first byte: some take a moment to load.
  const facts = await headObject(client, name)
  const expected: Expected | undefined = await expectedDigest(facts)
  const digest: Checksum | undefined = expected && createChecksum(expected.algorithm)
  await readObject(client, {
    name,
    etag: facts.etag,
    data(chunk) {
      digest?.update(chunk)
      if (stream.write(chunk)) return undefined
      return once(stream, 'drain').then(() => undefined)
    },
  })
  if (expected !== undefined && digest !== undefined) requireDigest(expected, digest.digest(), label)
  return facts.sizeBytes
}

/** A source of unknown length. It cannot be read twice, so its upload cannot be continued. */
export function streamSource(stream: Readable, name: string): UploadSource {
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let rest: Buffer = Buffer.alloc(0)
  let hasEnded = false
  return {
    name,
    sizeBytes: undefined,
    async read(buffer) {
      let filled = 0
      while (filled < buffer.length && !hasEnded) {
        if (rest.length === 0) {
          const next = await iterator.next()
          if (next.done) {
            hasEnded = true
            break
          }
          rest = Buffer.from(next.value)
        }
        const taken = rest.copy(buffer, filled)
        filled += taken
        rest = rest.subarray(taken)
      }
      return filled
    },
    async check() {
      // There is nothing to compare it with.
    },
  }
}
