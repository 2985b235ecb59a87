/** Records that a job has not healed and that nothing else counts: kept in its document, and counted while they are there as they were. */
import { createHash } from 'node:crypto'
import { dataIdOf, placeOfRecord } from 'svc/plugins/objects/api'
import type { StorageService } from 'svc/plugins/storage/api'
import type { StoredHealJob } from './admin/heal-schema.ts'

/** Most records whose keys a job keeps; further ones are only counted. */
const leftMax = 200

/** `value`: undefined if it could not be read. */
export function addLeft({ left }: StoredHealJob, key: Buffer, value: Buffer | undefined): void {
  if (left === undefined) return
  if (left.keys.length >= leftMax) {
    left.more++
    return
  }
  left.keys.push(key.toString('base64'))
  left.digests?.push(value === undefined ? '' : digestOf(key, value))
}

export async function countLeft({ left }: StoredHealJob, storage: Pick<StorageService, 'get'>): Promise<number> {
  if (left === undefined) return 0
  let count = left.more
  for (const [index, key] of left.keys.entries()) {
    if (await isAsItWas(Buffer.from(key, 'base64'), left.digests?.[index] ?? '', storage)) count++
  }
  return count
}

/** What cannot be read counts as there: that may be why the job could not check it. */
async function isAsItWas(key: Buffer, digest: string, storage: Pick<StorageService, 'get'>): Promise<boolean> {
  try {
    const record = await storage.get(key)
    return record !== undefined && (digest === '' || digest === digestOf(key, Buffer.from(record.value)))
  } catch {
    return true
  }
}

/** Of an object: of its data. Other tags do not bring back what is lost. */
function digestOf(key: Buffer, value: Buffer): string {
  const identity = placeOfRecord(key).kind === 'object' ? dataIdIfAny(value) : value
  return createHash('sha256').update(identity).digest('base64url').slice(0, 16)
}

/** The value itself if it is not one that this release can read. */
function dataIdIfAny(value: Buffer): string | Buffer {
  try {
    return dataIdOf(value)
  } catch {
    return value
  }
}
