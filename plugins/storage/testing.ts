/** Helpers for tests of storage backends and their users. */
import type { BlobRef, StorageBackend } from './api.ts'

/** Bytes start <= i < start+length of a blob in one buffer; by default all bytes. */
export async function readBlob(
  backend: Pick<StorageBackend, 'readBlob'>,
  ref: BlobRef,
  start = 0,
  length = ref.size - start,
): Promise<Buffer> {
  const reader = backend.readBlob(ref, start, length)
  const chunks: Buffer[] = []
  try {
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      chunks.push(Buffer.from(chunk.bytes))
      chunk.release()
    }
  } finally {
    reader.close()
  }
  return Buffer.concat(chunks)
}
