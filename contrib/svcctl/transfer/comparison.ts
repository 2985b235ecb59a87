/** Decides whether two files or objects are equal, at the lowest cost. */
import { open } from 'node:fs/promises'
import { createChecksum } from '../checksums/checksums.ts'
import type { S3Client } from '../s3/client.ts'
import { compareKeys } from '../s3/listing.ts'
import { headObject, type ObjectName } from '../s3/object.ts'
import { expectedDigest } from './digest.ts'

export interface Entry {
  /** Relative to the compared roots. */
  readonly key: string
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** Set for objects. */
  readonly etag?: string
  /** Set for files. */
  readonly path?: string
}

export interface Pair {
  readonly left: Entry | undefined
  readonly right: Entry | undefined
}

/** Both in the order of keys; holds one entry of each. */
export async function* pairUp(lefts: AsyncIterable<Entry>, rights: AsyncIterable<Entry>): AsyncGenerator<Pair> {
  const left = lefts[Symbol.asyncIterator]()
  const right = rights[Symbol.asyncIterator]()
  let [a, b] = await Promise.all([left.next(), right.next()])
  while (!a.done || !b.done) {
    const order = a.done ? 1 : b.done ? -1 : compareKeys(a.value.key, b.value.key)
    yield { left: order <= 0 ? a.value : undefined, right: order >= 0 ? b.value : undefined }
    if (order <= 0) a = await left.next()
    if (order >= 0) b = await right.next()
  }
}

const readBytes = 1 << 20

/** Reads the file. False also if the server stores no comparable digest. */
export async function hasContentOf(path: string, client: S3Client, name: ObjectName): Promise<boolean> {
  const facts = await headObject(client, name)
  const expected = await expectedDigest(facts)
  if (expected === undefined) return false
  const digest = createChecksum(expected.algorithm)
  const handle = await open(path, 'r')
  let sizeBytes = 0
  try {
    const buffer = Buffer.allocUnsafe(readBytes)
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, readBytes, sizeBytes)
      if (bytesRead === 0) break
      digest.update(buffer.subarray(0, bytesRead))
      sizeBytes += bytesRead
    }
  } finally {
    await handle.close()
  }
  return sizeBytes === facts.sizeBytes && digest.digest().equals(expected.digest)
}

/** Compares contents by a checksum that both have. */
export async function haveSameContent(
  left: { readonly client: S3Client } & ObjectName,
  right: { readonly client: S3Client } & ObjectName,
): Promise<boolean> {
  const [a, b] = await Promise.all([headObject(left.client, left), headObject(right.client, right)])
  if (a.sizeBytes !== b.sizeBytes) return false
  for (const [algorithm, digest] of a.checksums) {
    const other = b.checksums.get(algorithm)
    if (other !== undefined) return other.equals(digest)
  }
  return isMd5(a.etag) && a.etag === b.etag
}

export const isMd5 = (etag: string | undefined): boolean => etag !== undefined && /^[0-9a-f]{32}$/.test(etag)
