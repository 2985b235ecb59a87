/** What stands at the key of a file that is to be stored: the bytes of this file, or something else. */
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { texts } from '../../texts/index.ts'
import { crc64NvmeOf } from './crc64-nvme.ts'
import { existingKeys } from './existing.ts'

/** `hidden`: whoever asks may not read it. */
export type Found = 'same' | 'other' | 'gone' | 'hidden'

interface Wanted {
  readonly bucket: string
  readonly key: string
  readonly file: File
}

/** `persist` repeats the question while the server cannot be reached. */
export async function lookFor(
  { bucket, key, file }: Wanted,
  signal: AbortSignal,
  persist: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<Found> {
  const request = { params: { bucket }, query: { key }, signal }
  const stored = await persist(() => call('statObject', request)).catch(error => {
    if (error instanceof Problem && error.status === 403) return 'hidden' as const
    // Not what a proxy on the way knows of it.
    if (error instanceof Problem && error.code === 'object_not_found') return 'gone' as const
    throw error
  })
  if (typeof stored === 'string') return stored
  const { isDeleteMarker, size, checksumAlgorithm, checksum } = stored
  if (isDeleteMarker === true) return 'gone'
  if (size !== file.size || checksumAlgorithm !== 'CRC64NVME') return 'other'
  return (await checksumOf(file, file, signal)) === checksum ? 'same' : 'other'
}

/** Whether a listing tells that there is an object, for whoever may not read it. */
export async function isListed({ bucket, key }: Wanted, signal: AbortSignal): Promise<boolean> {
  return (await existingKeys(bucket, [key], signal, async () => {})).size > 0
}

/** CRC64-NVME of bytes of the file, in base64. Throws as `requireReadable` does. */
export async function checksumOf(file: File, bytes: Blob, signal: AbortSignal): Promise<string> {
  try {
    return await crc64NvmeOf(bytes, signal)
  } catch (error) {
    signal.throwIfAborted()
    await requireReadable(file)
    throw error
  }
}

/** A file that has changed or is gone since it was chosen looks like a broken connection. */
export async function requireReadable(file: File, words = texts.uploads.fileGone): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer()
  } catch {
    throw new Error(words)
  }
}
