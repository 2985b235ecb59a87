/**
 * CopyObject. Blobs are immutable and reference-counted, so a copy shares them and moves no bytes; a small body is written again
 * with its record. Bytes are read only if the copy needs a digest that the source does not have: another checksum, or, of an object that
 * came in parts, the MD5 of the whole, because a copy is one object with an ETag of its own.
 */
import type { ChecksumAlgorithm, ChecksumsService, ChecksumValue } from 'svc/plugins/checksums/api'
import type { StorageService } from 'svc/plugins/storage/api'
import type { CopyRequest, ObjectsService } from './api.ts'
import { packOrigin } from './events.ts'
import { bodyOf, readData } from './read.ts'
import { encodeVersion, md5Of, redundancyOf, type StoredVersion } from './record.ts'
import type { Stamp } from './versions.ts'

export async function copyObject(
  { storage, checksums }: { storage: StorageService; checksums: ChecksumsService },
  request: CopyRequest,
): Promise<Awaited<ReturnType<ObjectsService['copyObject']>>> {
  const { bucket, key, attributes, conditions } = request
  const source = request.source as StoredVersion
  const { body, blobs } = source.data
  const { checksum, md5 } = await digestsFor(storage, checksums, source, request.checksumAlgorithm)
  const inline = body === undefined ? undefined : await storage.readBody(body)
  const value = encodeVersion({
    attributes,
    sizeBytes: source.sizeBytes,
    md5,
    checksum,
    blobs,
  })
  const { modifiedMs, versionId } = await storage.execute<Stamp>(
    'objects.putObject',
    {
      bucket,
      key,
      value,
      blobs: blobs.map(blob => blob.id),
      conditions,
      event: 'ObjectCreated:Copy',
      origin: packOrigin(request.origin),
      ...(blobs.length > 0
        ? { source: { bucket: source.bucket, key: source.key, sequence: source.sequence } }
        : undefined),
    },
    inline,
    { redundancy: redundancyOf(attributes) },
  )
  const etag = md5.toString('hex')
  return { etag, versionId, sizeBytes: source.sizeBytes, modifiedMs, checksum, tags: attributes.tags }
}

/** In one pass over the bytes, and without it where the source has them. */
async function digestsFor(
  storage: StorageService,
  checksums: ChecksumsService,
  source: StoredVersion,
  wanted: ChecksumAlgorithm | undefined,
): Promise<{ readonly checksum: ChecksumValue; readonly md5: Buffer }> {
  const algorithm = wanted ?? source.checksum?.algorithm ?? 'CRC64NVME'
  const kept =
    source.checksum?.algorithm === algorithm && source.checksum.type === 'FULL_OBJECT' ? source.checksum : undefined
  const isWhole = source.parts.length === 0
  if (kept !== undefined && isWhole) return { checksum: kept, md5: md5Of(source) }
  const { sizeBytes } = source
  const digests = checksums.createDigests({
    md5: !isWhole,
    algorithm: kept === undefined ? algorithm : undefined,
    sizeBytes,
  })
  try {
    const data = await readData(storage, source.data, 0, sizeBytes)
    await bodyOf(data, sizeBytes).consume(chunk => digests.update(chunk))
    const { md5, checksum } = await digests.digest()
    return {
      checksum: kept ?? { algorithm, type: 'FULL_OBJECT', value: checksum!.toString('base64') },
      md5: md5 ?? md5Of(source),
    }
  } finally {
    digests.release()
  }
}
