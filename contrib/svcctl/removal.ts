/** Removing many objects. */
import type { Failures } from './failures.ts'
import { bulkDeleteMax, type Doomed, deleteObjects } from './s3/bulk-delete.ts'
import type { S3Client } from './s3/client.ts'
import { listObjects, listUploads, listVersions } from './s3/listing.ts'

export interface RemovalOptions {
  readonly bypassGovernance: boolean
  readonly failures: Failures
  onRemoved(doomed: Doomed): void
}

export async function* objectsBelow(
  client: S3Client,
  bucket: string,
  prefix: string,
  modifiedBeforeMs = Number.POSITIVE_INFINITY,
): AsyncGenerator<Doomed> {
  for await (const { items } of listObjects(client, { bucket, prefix })) {
    for (const { key, modifiedMs } of items) if (!(modifiedMs >= modifiedBeforeMs)) yield { key }
  }
}

export async function* versionsBelow(
  client: S3Client,
  bucket: string,
  prefix: string,
  modifiedBeforeMs = Number.POSITIVE_INFINITY,
): AsyncGenerator<Doomed> {
  for await (const { items } of listVersions(client, { bucket, prefix })) {
    for (const { key, versionId, modifiedMs } of items) if (!(modifiedMs >= modifiedBeforeMs)) yield { key, versionId }
  }
}

/** Deletes in requests of a thousand. Failed objects do not prevent the deletion of others. Returns the number of deleted objects. */
export async function removeObjects(
  client: S3Client,
  bucket: string,
  doomed: AsyncIterable<Doomed> | Iterable<Doomed>,
  { bypassGovernance, failures, onRemoved }: RemovalOptions,
): Promise<number> {
  let count = 0
  let batch: Doomed[] = []
  const nameOf = ({ key, versionId }: Doomed) => JSON.stringify([key, versionId ?? ''])
  async function flush(): Promise<void> {
    if (batch.length === 0) return
    const failed = await deleteObjects(client, bucket, batch, bypassGovernance)
    const failedNames = new Set(failed.map(nameOf))
    for (const { key, versionId, error } of failed) failures.add(error, { key, versionId })
    for (const one of batch) {
      if (failedNames.has(nameOf(one))) continue
      count++
      onRemoved(one)
    }
    batch = []
  }
  for await (const one of doomed) {
    batch.push(one)
    if (batch.length === bulkDeleteMax) await flush()
  }
  await flush()
  return count
}

/** Uploads that were never completed. Returns their number. */
export async function removeUploads(client: S3Client, bucket: string, prefix = ''): Promise<number> {
  let count = 0
  for await (const { items } of listUploads(client, { bucket, prefix })) {
    for (const { key, uploadId } of items) {
      await client.send({ operation: 'AbortMultipartUpload', method: 'DELETE', bucket, key, query: { uploadId } })
      count++
    }
  }
  return count
}
