/** The contribution to `object.transform`: encrypts the bytes of versions and parts as they are written, and decrypts ranges. */
import type { KeyObject } from 'node:crypto'
import { chain, type MaybePromise, type Random } from 'svc/kernel'
import type {
  EncryptionRequest,
  ObjectData,
  ObjectEncryption,
  ObjectPlace,
  ObjectTransform,
  TransformedVersion,
  WriteTransform,
} from 'svc/plugins/objects/api'
import { ChunkCipher, notAsStored, plainChunkBytes, saltBytes, storedBytes } from './chunks.ts'
import type { DataKeys, NewDataKey } from './data-keys.ts'
import { decryptChunk, decryptStream, decryptWhole, type EncryptedStream, storedRange } from './decryptor.ts'
import { Encryptor } from './encryptor.ts'
import { customerKeyMissing, encryptionErrors } from './errors.ts'
import { decodeSealed, encodeSealed, type SealedVersion } from './sealed.ts'

/** The encryption of a write: as requested, else the bucket's default. Throws if the bucket blocks the requested type. */
export type EffectiveRequest = (
  bucket: string,
  requested: EncryptionRequest | undefined,
) => MaybePromise<EncryptionRequest | undefined>

const empty: ObjectData = { kind: 'whole', bytes: Buffer.alloc(0) }

export function createTransform(
  dataKeys: DataKeys,
  random: Random,
  effectiveRequest: EffectiveRequest,
): ObjectTransform {
  const createKey = (
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<NewDataKey | undefined> => {
    const create = (wanted: EncryptionRequest | undefined) => wanted && dataKeys.create(place, wanted)
    const inherit = (wanted: EncryptionRequest | undefined) =>
      wanted !== undefined || source === undefined ? create(wanted) : chain(ofCopy(source), create)
    return chain(effectiveRequest(place.bucket, requested), inherit)
  }

  /**
   * The encryption of a copy if neither its request nor the bucket determines one: that of the source. A copy of an SSE-C source gets
   * SSE-S3, because the customer's key is not meant for the copy; without key management it is stored in plain text. Sources with
   * SSE-S3 or SSE-KMS need key management to be read, so their copies have it.
   */
  const ofCopy = ({
    type,
    kmsKeyId,
    bucketKeyEnabled,
  }: ObjectEncryption): MaybePromise<EncryptionRequest | undefined> => {
    if (type === 'SSE-KMS') {
      return chain(dataKeys.presentKeyId(kmsKeyId), id => ({ type, kmsKeyId: id, bucketKeyEnabled }))
    }
    return type === 'SSE-S3' || dataKeys.canWrap() ? { type: 'SSE-S3' } : undefined
  }

  const openStreams = (
    version: TransformedVersion,
    { isDirect, identity, salts }: SealedVersion,
    dataKey: KeyObject,
  ): EncryptedStream[] => {
    const parts = version.parts.length === 0 ? [{ partNumber: 0, sizeBytes: version.sizeBytes }] : version.parts
    if (isDirect ? version.parts.length > 0 : parts.length !== salts.length) throw notAsStored()
    // Chunks are bound to their part number; completed uploads have parts in ascending order.
    for (let i = 1; i < parts.length; i++) {
      if (parts[i]!.partNumber <= parts[i - 1]!.partNumber) throw notAsStored()
    }
    return parts.map(({ partNumber, sizeBytes }, i) => ({
      sizeBytes,
      cipher: () => new ChunkCipher(dataKey, { identity, partNumber, salt: salts[i] }),
    }))
  }

  return {
    begin(place, requested, source) {
      const made = createKey(place, requested, source)
      if (made instanceof Promise) return made.then(late => late && writeVersion(late))
      return made && writeVersion(made)
    },

    beginUpload(place, requested, source) {
      const made = createKey(place, requested, source)
      const keep = (key: NewDataKey | undefined) => key && encryptionOf(key, false)
      return made instanceof Promise ? made.then(keep) : keep(made)
    },

    beginPart(place, upload, partNumber, customerKey) {
      const { type } = upload
      if (type === 'SSE-C' && customerKey === undefined) {
        throw encryptionErrors.InvalidRequest(
          'The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate encryption parameters.',
        )
      }
      const sealed = decodeSealed(upload.sealed)
      const write = (dataKey: KeyObject) => {
        const salt = random.bytes(saltBytes)
        const cipher = new ChunkCipher(dataKey, { identity: sealed.identity, partNumber, salt })
        return writeTransform(cipher, { type, sealed: salt })
      }
      const opened = dataKeys.unwrap(place, type, sealed, customerKey)
      return opened instanceof Promise ? opened.then(write) : write(opened)
    },

    completeUpload(upload, parts) {
      const sealed = decodeSealed(upload.sealed)
      return { ...upload, sealed: encodeSealed({ ...sealed, salts: parts.map(part => part.sealed) }) }
    },

    read(version, start, length, customerKey, readStored) {
      const { type, sealed: bytes } = version.encryption!
      const sealed = decodeSealed(bytes)
      if (type === 'SSE-C' && customerKey === undefined) throw customerKeyMissing()
      // An empty range of a non-empty object needs no read. An empty object is read: its emptiness is authenticated.
      if (length === 0 && version.sizeBytes > 0) return empty
      const sizes = version.parts.length === 0 ? [version] : version.parts
      const range = storedRange(sizes, start, length)
      // Starts reading before it waits for a key server: only a read that has started keeps the bytes from being deleted.
      const stored = readStored(range.start, range.length)
      const opened = attempt(() => dataKeys.unwrap(version, type, sealed, customerKey), stored)
      const decrypt = (data: ObjectData, dataKey: KeyObject): ObjectData => {
        if (data.kind === 'whole' && version.parts.length === 0 && version.sizeBytes <= plainChunkBytes) {
          const cipher = openSmall(sealed, dataKey)
          return { kind: 'whole', bytes: decryptChunk(cipher, version.sizeBytes, start, length, data.bytes) }
        }
        const streams = openStreams(version, sealed, dataKey)
        return data.kind === 'whole'
          ? { kind: 'whole', bytes: decryptWhole(streams, range, length, data.bytes) }
          : decryptStream(streams, range, length, data)
      }
      if (!(stored instanceof Promise) && !(opened instanceof Promise)) return decrypt(stored, opened)
      return Promise.all([stored, opened]).then(([data, dataKey]) => decrypt(data, dataKey))
    },

    async rename(from, to, encryption) {
      const { type, kmsKeyId } = encryption
      if (type === 'SSE-C') {
        throw encryptionErrors.InvalidRequest(
          'An object that is encrypted with a key of the customer cannot be renamed.',
        )
      }
      const sealed = decodeSealed(encryption.sealed)
      const dataKey = await dataKeys.rewrap(from, to, sealed, kmsKeyId)
      return { ...encryption, sealed: encodeSealed({ ...sealed, dataKey }) }
    },
  }
}

/** Unwraps the data key; if that fails, closes the stored bytes, which nobody will read. */
function attempt<T>(open: () => MaybePromise<T>, stored: MaybePromise<ObjectData>): MaybePromise<T> {
  const close = (error: unknown): never => {
    Promise.resolve(stored).then(
      data => data.kind === 'stream' && data.close(),
      // Reading failed as well; the caller gets the error of the key.
      () => undefined,
    )
    throw error
  }
  try {
    const opened = open()
    return opened instanceof Promise ? opened.catch(close) : opened
  } catch (error) {
    return close(error)
  }
}

/** The cipher of a version of one chunk. */
function openSmall({ isDirect, identity, salts }: SealedVersion, dataKey: KeyObject): ChunkCipher {
  if (isDirect) return new ChunkCipher(dataKey, { identity, partNumber: 0, salt: undefined })
  const [salt] = salts
  if (salt === undefined || salts.length > 1) throw notAsStored()
  return new ChunkCipher(dataKey, { identity, partNumber: 0, salt })
}

function encryptionOf({ type, kmsKeyId, bucketKeyEnabled, sealed }: NewDataKey, isDirect: boolean): ObjectEncryption {
  const { identity, context, verifier, dataKey } = sealed
  return {
    type,
    kmsKeyId,
    bucketKeyEnabled,
    sealed: encodeSealed({ isDirect, identity, salts: none, context, verifier, dataKey }),
  }
}

function writeVersion(made: NewDataKey): WriteTransform {
  const cipher = new ChunkCipher(made.key, { identity: made.sealed.identity, partNumber: 0, salt: undefined })
  return writeTransform(cipher, encryptionOf(made, true))
}

function writeTransform(cipher: ChunkCipher, encryption: ObjectEncryption): WriteTransform {
  const encryptor = new Encryptor(cipher)
  return {
    encryption,
    etag: encryption.type === 'SSE-S3' ? 'md5' : 'opaque',
    storedBytes,
    whole: bytes => encryptor.whole(bytes),
    push: (chunk, emit) => encryptor.push(chunk, emit),
    end: emit => encryptor.end(emit),
    close: () => encryptor.close(),
  }
}

const none: readonly Buffer[] = []
