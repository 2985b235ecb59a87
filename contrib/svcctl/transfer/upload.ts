/**
 * Uploads one object from bytes that come in order. Small objects go in one request; larger ones in parts, several at a time, each held in memory
 * until the server has acknowledged it, so that it can be sent again unchanged.
 *
 * 1. Each part carries its CRC32, and the completion that of the whole: the server stores exactly the bytes that were read.
 * 2. A resumed upload reads its source again from the start; a part that the server has is skipped only if its length and CRC32
 *    match the bytes that are read now.
 * 3. A source that changes while it is read is never completed.
 */
import { hash } from 'node:crypto'
import { combineChecksums, computeChecksum } from '../checksums/checksums.ts'
import { failure, S3Error } from '../errors.ts'
import type { S3Client } from '../s3/client.ts'
import type { CustomerKey } from '../s3/customer-key.ts'
import { type ListedPart, listParts } from '../s3/listing.ts'
import { escapeXml, readXml, textOf } from '../s3/xml.ts'
import type { Budget, Lease } from './budget.ts'
import type { StateFile } from './transfer-state.ts'

export interface UploadSource {
  /** The name in messages. */
  readonly name: string
  /** Undefined: known at its end. */
  readonly sizeBytes: number | undefined
  /** Fills the buffer with the next bytes; returns less than its length only at the end. */
  read(buffer: Buffer): Promise<number>
  /** Throws if the source has changed since the beginning. */
  check(): Promise<void>
}

export interface UploadTarget {
  readonly client: S3Client
  readonly bucket: string
  readonly key: string
  /** Content type, metadata, storage class, tags. Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Its encryption with a key of the client, if requested. */
  readonly customerKey: CustomerKey | undefined
}

export interface UploadState {
  readonly uploadId: string
  readonly partBytes: number
}

export interface UploadOptions {
  readonly budget: Budget
  /** Undefined: chosen by size. */
  readonly partBytes: number | undefined
  /** Stored state with which another run can resume. */
  readonly state: StateFile<UploadState> | undefined
  onProgress(byteCount: number): void
}

export interface Uploaded {
  readonly sizeBytes: number
  readonly etag: string
  readonly versionId: string | undefined
  /** Parts that the server has from an earlier run. */
  readonly resumedBytes: number
}

const MIB = 1 << 20
export const partBytesDefault = 16 * MIB
const partBytesMin = 5 * MIB
const partBytesMax = 5 * 1024 * MIB
const partCountMax = 10_000
const objectBytesMax = 5 * 1024 * 1024 * MIB

/** The size of parts: as requested, or larger if the maximum number of parts requires it. */
export function choosePartBytes(sizeBytes: number, wanted: number | undefined): number {
  if (sizeBytes > objectBytesMax) throw failure('too_large', 'No object can be larger than 5 TiB.')
  const needed = Math.ceil(sizeBytes / partCountMax / MIB) * MIB
  return Math.max(wanted ?? partBytesDefault, needed, partBytesMin)
}

/** Size of a part of a stream of unknown length. Parts grow, so that 10 000 of them hold more than 5 TiB. */
const streamPartBytes = (number: number, first: number): number =>
  Math.min(first * 2 ** Math.floor((number - 1) / 1000), partBytesMax)

const crc32Of = (bytes: Buffer) => computeChecksum('CRC32', bytes)

export async function uploadObject(
  source: UploadSource,
  target: UploadTarget,
  options: UploadOptions,
): Promise<Uploaded> {
  const { sizeBytes } = source
  const partBytes = choosePartBytes(sizeBytes ?? 0, options.partBytes)
  const firstBytes = sizeBytes === undefined ? partBytes : Math.min(sizeBytes, partBytes)
  if (sizeBytes !== undefined && sizeBytes > partBytes) {
    return new PartedUpload(source, target, options, partBytes).run(undefined)
  }
  const lease = await options.budget.acquire(firstBytes)
  let isPassedOn = false
  try {
    const filled = await source.read(lease.buffer)
    if (sizeBytes === undefined && filled === partBytes) {
      isPassedOn = true
      return await new PartedUpload(source, target, options, partBytes).run(lease)
    }
    if (sizeBytes !== undefined && filled !== sizeBytes) throw changed(source)
    await source.check()
    return await putWhole(lease.buffer.subarray(0, filled), target, options)
  } finally {
    if (!isPassedOn) lease.release()
  }
}

async function putWhole(body: Buffer, target: UploadTarget, { onProgress }: UploadOptions): Promise<Uploaded> {
  const { client, bucket, key } = target
  const { headers } = await client.send({
    operation: 'PutObject',
    method: 'PUT',
    bucket,
    key,
    headers: {
      ...target.headers,
      ...target.customerKey?.headers,
      'x-amz-checksum-crc32': crc32Of(body).toString('base64'),
    },
    body,
  })
  onProgress(body.length)
  return {
    sizeBytes: body.length,
    etag: (headers.etag ?? '').replaceAll('"', ''),
    versionId: headers['x-amz-version-id'],
    resumedBytes: 0,
  }
}

const changed = (source: UploadSource) =>
  failure('source_changed', `${source.name} changed while it was read; nothing was stored.`)

/** If space or quota is exhausted, the uploaded parts are deleted to free it. */
const hasNoRoom = (error: unknown): boolean =>
  error instanceof S3Error && (error.status === 507 || roomCodes.has(error.code))

const roomCodes = new Set(['InsufficientStorage', 'QuotaExceeded'])

interface SentPart {
  readonly number: number
  readonly etag: string
  readonly crc32: string
}

class PartedUpload {
  readonly #source: UploadSource
  readonly #target: UploadTarget
  readonly #options: UploadOptions
  readonly #partBytes: number
  readonly #sent: SentPart[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #failure: { readonly error: unknown } | undefined
  #uploadId = ''
  #there: ReadonlyMap<number, ListedPart> = new Map()
  #byteCount = 0
  #resumedBytes = 0
  #crc: Buffer | undefined

  constructor(source: UploadSource, target: UploadTarget, options: UploadOptions, partBytes: number) {
    this.#source = source
    this.#target = target
    this.#options = options
    this.#partBytes = partBytes
  }

  /** `first`: the first part, if it has already been read. */
  async run(first: Lease | undefined): Promise<Uploaded> {
    try {
      await this.#open()
    } catch (error) {
      first?.release()
      throw error
    }
    try {
      await this.#sendParts(first)
      await this.#source.check()
      return await this.#complete()
    } catch (error) {
      this.#abort.abort()
      await Promise.allSettled(this.#running)
      const { code } = error as { readonly code?: unknown }
      if (this.#options.state === undefined || code === 'source_changed' || hasNoRoom(error)) await this.#discard()
      throw error
    }
  }

  async #open(): Promise<void> {
    const { client, bucket, key, headers, customerKey } = this.#target
    const { state } = this.#options
    const known = await state?.load()
    if (known !== undefined && known.partBytes === this.#partBytes) {
      try {
        this.#there = await listParts(client, bucket, key, known.uploadId)
        this.#uploadId = known.uploadId
        return
      } catch (error) {
        // Aborted, completed or expired: a new upload replaces it.
        if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') throw error
      }
    }
    const answer = await client.send({
      operation: 'CreateMultipartUpload',
      method: 'POST',
      bucket,
      key,
      query: { uploads: '' },
      headers: {
        ...headers,
        ...customerKey?.headers,
        'x-amz-checksum-algorithm': 'CRC32',
        'x-amz-checksum-type': 'FULL_OBJECT',
      },
    })
    const uploadId = textOf(readXml(answer.body, 'InitiateMultipartUploadResult'), 'UploadId')
    if (!uploadId) throw failure('bad_answer', 'The server began an upload without a name.')
    this.#uploadId = uploadId
    await state?.save({ uploadId, partBytes: this.#partBytes })
  }

  async #sendParts(first: Lease | undefined): Promise<void> {
    const { sizeBytes } = this.#source
    for (let number = 1; ; number++) {
      const isFirst = number === 1 && first !== undefined
      const wanted =
        sizeBytes === undefined
          ? streamPartBytes(number, this.#partBytes)
          : Math.min(this.#partBytes, sizeBytes - this.#byteCount)
      if (wanted === 0) break
      const lease = isFirst ? first : await this.#options.budget.acquire(wanted)
      let filled = 0
      try {
        if (this.#failure === undefined) filled = isFirst ? wanted : await this.#source.read(lease.buffer)
        if (sizeBytes !== undefined && filled < wanted && this.#failure === undefined) throw changed(this.#source)
        if (number > partCountMax) throw failure('too_large', 'No object can have more than 10 000 parts.')
      } catch (error) {
        lease.release()
        throw error
      }
      if (filled === 0 || this.#failure !== undefined) {
        lease.release()
        break
      }
      this.#start(number, lease, lease.buffer.subarray(0, filled))
      if (filled < wanted) break
    }
    await Promise.all(this.#running)
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #start(number: number, lease: Lease, bytes: Buffer): void {
    const crc = crc32Of(bytes)
    this.#crc = this.#crc === undefined ? crc : combineChecksums('CRC32', this.#crc, crc, bytes.length)
    this.#byteCount += bytes.length
    const crc32 = crc.toString('base64')
    const there = this.#there.get(number)
    if (there !== undefined && isSame(there, bytes, crc32)) {
      this.#sent.push({ number, etag: there.etag, crc32 })
      this.#resumedBytes += bytes.length
      this.#options.onProgress(bytes.length)
      lease.release()
      return
    }
    const sending = this.#send(number, bytes, crc32)
      .catch(error => {
        this.#failure ??= { error }
      })
      .finally(() => {
        lease.release()
        this.#running.delete(sending)
      })
    this.#running.add(sending)
  }

  async #send(number: number, body: Buffer, crc32: string): Promise<void> {
    const { client, bucket, key, customerKey } = this.#target
    let shown = 0
    const { headers } = await client.send({
      operation: 'UploadPart',
      method: 'PUT',
      bucket,
      key,
      query: { partNumber: String(number), uploadId: this.#uploadId },
      headers: { ...customerKey?.headers, 'x-amz-checksum-crc32': crc32 },
      body,
      onSent: byteCount => {
        // A retried part has already been counted.
        const counted = Math.min(byteCount, body.length - shown)
        shown += counted
        if (counted > 0) this.#options.onProgress(counted)
      },
      signal: this.#abort.signal,
    })
    this.#sent.push({ number, etag: (headers.etag ?? '').replaceAll('"', ''), crc32 })
  }

  async #complete(): Promise<Uploaded> {
    const { client, bucket, key, customerKey } = this.#target
    const parts = this.#sent
      .sort((a, b) => a.number - b.number)
      .map(
        ({ number, etag, crc32 }) =>
          `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag><ChecksumCRC32>${crc32}</ChecksumCRC32></Part>`,
      )
    const answer = await client.send({
      operation: 'CompleteMultipartUpload',
      method: 'POST',
      bucket,
      key,
      query: { uploadId: this.#uploadId },
      headers: {
        ...customerKey?.headers,
        'content-type': 'application/xml',
        'x-amz-checksum-crc32': this.#crc!.toString('base64'),
        'x-amz-checksum-type': 'FULL_OBJECT',
      },
      body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
    })
    await this.#options.state?.remove()
    const document = readXml(answer.body, 'CompleteMultipartUploadResult')
    return {
      sizeBytes: this.#byteCount,
      etag: (textOf(document, 'ETag') ?? '').replaceAll('"', ''),
      versionId: answer.headers['x-amz-version-id'],
      resumedBytes: this.#resumedBytes,
    }
  }

  /** The upload will not be resumed: the server need not keep its parts. */
  async #discard(): Promise<void> {
    const { client, bucket, key } = this.#target
    const query = { uploadId: this.#uploadId }
    await this.#options.state?.remove()
    await client
      .send({ operation: 'AbortMultipartUpload', method: 'DELETE', bucket, key, query })
      .catch(() => undefined) // The first error is reported; `ls --incomplete` shows remaining uploads.
  }
}

function isSame(there: ListedPart, bytes: Buffer, crc32: string): boolean {
  if (there.sizeBytes !== bytes.length) return false
  return there.crc32 === undefined ? there.etag === hash('md5', bytes) : there.crc32 === crc32
}
