/**
 * CopyObject. Blobs are immutable and reference-counted, so a copy shares them and moves no bytes; a small body is written again
 * with its record. Bytes are read only if the copy needs a checksum that the source does not have.
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
  const checksum = await checksumFor(storage, checksums, source, request.checksumAlgorithm)
  const inline = body === undefined ? undefined : await storage.readBody(body)
  const value = encodeVersion({
    attributes,
    sizeBytes: source.sizeBytes,
    md5: md5Of(source),
    checksum,
    blobs,
    ...(source.parts.length > 0 ? { parts: partsFor(source, checksum) } : undefined),
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
  return { etag: source.etag, versionId, sizeBytes: source.sizeBytes, modifiedMs, checksum, tags: attributes.tags }
}

async function checksumFor(
  storage: StorageService,
  checksums: ChecksumsService,
  source: StoredVersion,
  wanted: ChecksumAlgorithm | undefined,
): Promise<ChecksumValue | undefined> {
  const algorithm = wanted ?? source.checksum?.algorithm ?? 'CRC64NVME'
  if (source.checksum?.algorithm === algorithm) return source.checksum
  const running = checksums.create(algorithm)
  const data = await readData(storage, source.data, 0, source.sizeBytes)
  await bodyOf(data, source.sizeBytes).consume(chunk => running.update(chunk))
  return { algorithm, type: 'FULL_OBJECT', value: running.digest().toString('base64') }
}

/** The parts keep their sizes. Their checksums are kept only if the algorithm is the same. */
function partsFor(source: StoredVersion, checksum: ChecksumValue | undefined): StoredVersion['parts'] {
  if (checksum?.algorithm === source.checksum?.algorithm) return source.parts
  return source.parts.map(part => ({ ...part, checksum: undefined }))
}
