/**
 * Turns a payload into durable bytes: a small body stays in memory and is committed together with its record, a larger one
 * streams into a blob. Computes the digests on the way. Called by `objects.ts` for objects and parts.
 *
 * - The client's expected digests are checked before anything can be committed.
 * - Memory per request is bounded by the backend's inline limit, whatever the size of the body.
 */
import type { MaybePromise } from 'svc/kernel'
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { BlobRef, BlobWriter, RecordKey, Redundancy, StorageService } from 'svc/plugins/storage/api'
import type { Body } from './api.ts'
import { objectErrors } from './errors.ts'
import type { WriteTransform } from './transform.ts'

/** Largest object or part in one request: 5 GiB, as in S3. */
export const putBytesMax = 5 * 1024 ** 3

export interface Ingested {
  readonly sizeBytes: number
  /** Undefined when neither the ETag nor an expected digest needs it. */
  readonly md5: Buffer | undefined
  readonly checksum: Buffer | undefined
  /** A small body, to be passed to `storage.execute`. */
  readonly inline: Buffer | undefined
  readonly blobs: readonly BlobRef[]
  /** Deletes the written blobs when no record references them. */
  discard(): Promise<void>
  /** The commit of the record is in doubt: deletes the written blobs once it is known that no record references them. */
  abandon(): Promise<void>
}

export interface IngestOptions {
  readonly storage: StorageService
  readonly checksums: ChecksumsService
  readonly algorithm: ChecksumAlgorithm | undefined
  /** Bodies of up to this many stored bytes stay in memory. With 0 every body becomes a blob. */
  readonly inlineBytesMax: number
  readonly redundancy: Redundancy
  /** Key of the record that will reference the bytes. */
  readonly record: RecordKey
  /** Transforms received bytes into stored bytes. Size, digests and checksums are those of the received bytes. */
  readonly transform?: WriteTransform
  /** Of received bytes. Default and maximum: 5 GiB. */
  readonly bytesMax?: number
}

const nothing = Buffer.alloc(0)
const nothingToDelete = () => Promise.resolve()

export async function ingest(body: Body, options: IngestOptions): Promise<Ingested> {
  const announced = body.sizeBytes
  const { bytesMax = putBytesMax } = options
  if (announced !== undefined && announced > bytesMax) throw tooLarge(announced, bytesMax)
  const ingested =
    announced !== undefined && storedBytes(announced, options) <= options.inlineBytesMax
      ? await ingestInline(body, announced, options)
      : await ingestStream(body, options)
  try {
    checkDigests(body, ingested, options.algorithm)
    return ingested
  } catch (error) {
    await ingested.discard()
    throw error
  }
}

async function ingestInline(body: Body, sizeBytes: number, options: IngestOptions): Promise<Ingested> {
  const bytes = Buffer.allocUnsafe(sizeBytes)
  let filled = 0
  await body.consume(chunk => {
    // `consume` checks the length as well. Without this check a copy beyond the end would be cut silently.
    if (filled + chunk.length > sizeBytes) throw objectErrors.InvalidRequest('The body is longer than announced.')
    chunk.copy(bytes, filled)
    filled += chunk.length
  })
  if (filled !== sizeBytes) throw objectErrors.InvalidRequest('The body is shorter than announced.')
  return digestWhole(bytes, needsMd5(body, options), options)
}

async function digestWhole(bytes: Buffer, withMd5: boolean, options: IngestOptions): Promise<Ingested> {
  return {
    sizeBytes: bytes.length,
    md5: withMd5 ? await options.checksums.computeMd5(bytes) : undefined,
    checksum: options.algorithm === undefined ? undefined : options.checksums.compute(options.algorithm, bytes),
    inline: options.transform === undefined ? bytes : options.transform.whole(bytes),
    blobs: [],
    discard: nothingToDelete,
    abandon: nothingToDelete,
  }
}

/** For a body of unknown length or above the inline limit: buffers up to the limit, then continues into a blob. */
async function ingestStream(body: Body, options: IngestOptions): Promise<Ingested> {
  const { transform, bytesMax = putBytesMax } = options
  const { algorithm } = options
  const digests = options.checksums.createDigests({
    md5: needsMd5(body, options),
    algorithm,
    sizeBytes: body.sizeBytes,
  })
  let sizeBytes = 0
  let held: Buffer[] = []
  let heldBytes = 0
  let writer: BlobWriter | undefined
  const discard = async () => {
    await writer?.abort()
  }
  const abandon = async () => {
    await writer?.abandon?.()
  }
  const sink = (chunk: Buffer): MaybePromise<void> => {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) throw tooLarge(sizeBytes, bytesMax)
    const hashed = digests.update(chunk)
    return both(hashed, transform === undefined ? store(chunk) : transform.push(chunk, store))
  }
  const store = (chunk: Buffer): MaybePromise<void> => {
    if (writer !== undefined) return writer.write(chunk)
    heldBytes += chunk.length
    if (body.sizeBytes === undefined && heldBytes <= options.inlineBytesMax) {
      held.push(Buffer.from(chunk))
      return
    }
    const { redundancy, record } = options
    const sizeHint = body.sizeBytes === undefined ? undefined : storedBytes(body.sizeBytes, options)
    writer = options.storage.createBlob(sizeHint, { redundancy, for: record })
    if (held.length === 0) return writer.write(chunk)
    const first = Buffer.concat([...held, chunk])
    held = []
    return writer.write(first)
  }
  try {
    await body.consume(sink)
    if (transform !== undefined) await transform.end(store)
    if (writer === undefined && (options.inlineBytesMax > 0 || sizeBytes === 0)) {
      const inline = Buffer.concat(held)
      return {
        sizeBytes,
        ...(await digests.digest()),
        inline: options.inlineBytesMax > 0 ? inline : nothing,
        blobs: [],
        discard: nothingToDelete,
        abandon: nothingToDelete,
      }
    }
    const [blob, computed] = await Promise.all([writer!.finish(), digests.digest()])
    return { sizeBytes, ...computed, inline: undefined, blobs: [blob], discard, abandon }
  } catch (error) {
    await discard()
    throw error
  } finally {
    digests.release()
  }
}

function both(one: MaybePromise<void>, other: MaybePromise<void>): MaybePromise<void> {
  if (one === undefined) return other
  return other === undefined ? one : Promise.all([one, other]).then(() => undefined)
}

/** The expected MD5 comes in a header, so it is known before the bytes. */
function needsMd5(body: Body, { transform }: IngestOptions): boolean {
  return transform?.etag !== 'opaque' || body.expectedDigests().md5 !== undefined
}

function storedBytes(sizeBytes: number, { transform }: IngestOptions): number {
  return transform === undefined ? sizeBytes : transform.storedBytes(sizeBytes)
}

function checkDigests(body: Body, ingested: Ingested, algorithm: ChecksumAlgorithm | undefined): void {
  const { md5, checksum } = body.expectedDigests()
  if (md5 !== undefined && (ingested.md5 === undefined || !md5.equals(ingested.md5))) {
    throw objectErrors.BadDigest('The Content-MD5 you specified did not match what we received.', {
      extra: {
        ExpectedDigest: md5.toString('base64'),
        CalculatedDigest: ingested.md5?.toString('base64') ?? '',
      },
    })
  }
  if (checksum === undefined) return
  if (checksum.algorithm !== algorithm) {
    throw objectErrors.InvalidRequest(
      `The request carries a ${checksum.algorithm} checksum, but ${algorithm ?? 'none'} was announced.`,
    )
  }
  if (!checksum.value.equals(ingested.checksum!)) {
    throw objectErrors.BadDigest(`The ${algorithm} you specified did not match the calculated checksum.`)
  }
}

function tooLarge(sizeBytes: number, bytesMax: number) {
  return objectErrors.EntityTooLarge(undefined, {
    extra: { ProposedSize: String(sizeBytes), MaxSizeAllowed: String(bytesMax) },
  })
}
