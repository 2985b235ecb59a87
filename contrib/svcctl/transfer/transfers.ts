/** Transfers one file or object to its target, in any direction. */
import { createChecksum } from '../checksums/checksums.ts'
import { contentTypeOf } from '../content-types.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import type { S3Client } from '../s3/client.ts'
import { copiedHeaders, headObject, type ObjectFacts, type ObjectName, requestedHeaders } from '../s3/object.ts'
import { readObject } from '../s3/read-object.ts'
import { createBudget } from './budget.ts'
import { expectedDigest, requireDigest } from './digest.ts'
import { downloadObject } from './download.ts'
import { type Encryption, type EncryptionOptions, encryptionOf } from './encryption.ts'
import { openSource } from './local-file.ts'
import { copyOnServer } from './server-copy.ts'
import { streamSource, writeToStream } from './stream.ts'
import { type UploadOptions, type UploadSource, type UploadState, uploadObject } from './upload.ts'

export interface TransferOptions extends EncryptionOptions {
  /** Requests under way at a time. */
  readonly concurrency: number
  /** Undefined: chosen by size. */
  readonly partSize?: number
  readonly storageClass?: string
  /** Headers that are stored, and metadata. */
  readonly attr?: readonly (readonly [string, string])[]
  readonly tags?: string
  /** Modification times travel along, as metadata that rclone understands too. */
  readonly preserve?: boolean
  /** Files are on the drive before they count as copied. */
  readonly sync?: boolean
}

export interface RemoteObject extends ObjectName {
  readonly client: S3Client
}

/** Fields of a transfer's record besides its source and target. */
export type Transferred = Readonly<Record<string, unknown>> & { readonly size: number }

export interface Transfers {
  readonly encryption: Encryption
  /** `onOpened` throws where the file is not to be sent after all. */
  upload(path: string, to: RemoteObject, onOpened?: () => void): Promise<Transferred>
  /** `modifiedMs`: the time of the file; undefined: that of the object with `preserve`, otherwise now. */
  download(from: RemoteObject, sizeBytes: number | undefined, path: string, modifiedMs?: number): Promise<Transferred>
  copy(from: RemoteObject, to: RemoteObject): Promise<Transferred>
  fromStream(to: RemoteObject): Promise<Transferred>
  toStream(from: RemoteObject): Promise<Transferred>
}

/** Whether source and target are the same object, even under different aliases. */
export const isSamePlace = (from: RemoteObject, to: RemoteObject): boolean =>
  from.client.endpoint === to.client.endpoint && from.bucket === to.bucket && from.key === to.key

export const concurrencyDefault = 16
const bytesInFlightMax = 96 << 20
/** The ranges of one object are read one at a time: more connections do not make a drive faster. */
const rangeCountMax = 4

const modifiedHeader = 'x-amz-meta-mtime'
const plainHeaders = new Set([
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
])

export function createTransfers(context: Context, options: TransferOptions): Transfers {
  const { io, output, states } = context
  const encryption = encryptionOf(context, options)
  const { targetKey, sourceKey, readKey } = encryption
  const { concurrency, preserve } = options
  const budget = createBudget(bytesInFlightMax, concurrency)
  const given = { ...headersOf(options), ...encryption.headers }
  const onProgress = (byteCount: number) => output.progress.addBytes(byteCount)
  const optionsFor = (
    to: RemoteObject,
    headers: Readonly<Record<string, string>>,
    identity: readonly unknown[] | undefined,
  ) =>
    ({
      budget,
      partBytes: options.partSize,
      state:
        identity === undefined
          ? undefined
          : states.open<UploadState>('uploads', [
              to.client.endpoint,
              to.bucket,
              to.key,
              headers,
              ...(targetKey === undefined ? [] : [targetKey.id]),
              ...identity,
            ]),
      onProgress,
    }) satisfies UploadOptions

  async function send(
    source: UploadSource,
    to: RemoteObject,
    headers: Readonly<Record<string, string>>,
    identity?: readonly unknown[],
  ) {
    const { client, bucket, key } = to
    const done = await uploadObject(
      source,
      { client, bucket, key, headers, customerKey: targetKey },
      optionsFor(to, headers, identity),
    )
    return { size: done.sizeBytes, etag: done.etag, versionId: done.versionId, resumed: done.resumedBytes }
  }

  return {
    encryption,

    async upload(path, to, onOpened) {
      const source = await openSource(path)
      try {
        onOpened?.()
        const headers = {
          'content-type': await contentTypeOf(path),
          ...(preserve ? { [modifiedHeader]: formatModified(source.modifiedMs) } : undefined),
          ...given,
        }
        return await send(source, to, headers, source.identity)
      } finally {
        await source.close()
      }
    },

    async download({ client, ...name }, sizeBytes, path, modifiedMs) {
      const done = await downloadObject({
        client,
        name: { ...name, customerKey: readKey },
        sizeBytes,
        path,
        budget,
        states,
        isDurable: options.sync === true,
        concurrency: Math.min(concurrency, rangeCountMax),
        modifiedOf: facts => modifiedMs ?? (preserve ? modifiedOf(facts) : undefined),
        onProgress,
      })
      return { size: done.sizeBytes, etag: done.etag, resumed: done.resumedBytes, verifiedBy: done.verifiedBy }
    },

    async copy({ client, ...object }, to) {
      const from = { ...object, customerKey: sourceKey }
      const facts = await headObject(client, from)
      if (client === to.client) {
        const copied = await copyOnServer({
          client,
          from,
          to: { ...to, customerKey: targetKey },
          facts,
          headers: isSamePlace({ client, ...from }, to) ? { ...requestedHeaders(facts.headers), ...given } : given,
        })
        onProgress(facts.sizeBytes)
        return { size: facts.sizeBytes, ...copied }
      }
      const headers = { ...copiedHeaders(facts.headers), ...given }
      const identity = [client.endpoint, from.bucket, from.key, facts.versionId ?? null, facts.etag, facts.sizeBytes]
      return send(await remoteSource(client, from, facts), to, headers, identity)
    },

    async fromStream(to) {
      const headers = { 'content-type': await contentTypeOf(to.key), ...given }
      return send(streamSource(io.stdin, 'standard input'), to, headers)
    },

    async toStream({ client, ...name }) {
      return {
        size: await writeToStream(client, { ...name, customerKey: readKey }, io.stdout, `${name.bucket}/${name.key}`),
      }
    },
  }
}

function headersOf({ storageClass, attr = [], tags }: TransferOptions): Record<string, string> {
  const headers: Record<string, string> = {}
  if (storageClass !== undefined) headers['x-amz-storage-class'] = storageClass
  if (tags !== undefined) headers['x-amz-tagging'] = tags
  for (const [givenName, value] of attr) {
    const name = givenName.toLowerCase()
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name))
      throw usageError(`${JSON.stringify(givenName)} is no name of an attribute.`)
    if (!/^[\x20-\x7e]*$/.test(value))
      throw usageError(`The attribute ${givenName} has to be of printable ASCII characters.`)
    headers[plainHeaders.has(name) ? name : `x-amz-meta-${name}`] = value
  }
  return headers
}

/** Seconds, as rclone writes them. */
const formatModified = (ms: number): string => String(Math.round(ms) / 1000)

function modifiedOf(facts: ObjectFacts): number | undefined {
  const kept = Number(facts.headers[modifiedHeader] ?? Number.NaN) * 1000
  const ms = Number.isFinite(kept) ? kept : facts.modifiedMs
  return Number.isFinite(ms) ? ms : undefined
}

/** An object of another server, read in the pieces in which it is sent on, and compared before it counts. */
async function remoteSource(client: S3Client, name: ObjectName, facts: ObjectFacts): Promise<UploadSource> {
  const { sizeBytes, etag } = facts
  const expected = await expectedDigest(facts)
  const digest = expected && createChecksum(expected.algorithm)
  const label = `${name.bucket}/${name.key}`
  let at = 0
  return {
    name: label,
    sizeBytes,
    async read(buffer) {
      const end = Math.min(at + buffer.length, sizeBytes) - 1
      let filled = 0
      if (end < at) return 0
      await readObject(client, {
        name,
        range: { start: at, end },
        etag,
        room: () => buffer.subarray(filled),
        filled(byteCount) {
          filled += byteCount
        },
      })
      digest?.update(buffer.subarray(0, filled))
      at += filled
      return filled
    },
    async check() {
      if (expected !== undefined && digest !== undefined) requireDigest(expected, digest.digest(), label)
    },
  }
}
