/** What the plugin does with the bytes of objects: the contribution to `object.transform`. */
import type { KeyObject } from 'node:crypto'
import type { MaybePromise, Random } from 'svc/kernel'
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

/** How a bucket wants what comes without a wish of its own; throws where it does not take what is wished. */
export type WishOf = (
  bucket: string,
  wish: EncryptionRequest | undefined,
) => MaybePromise<EncryptionRequest | undefined>

const empty: ObjectData = { kind: 'whole', bytes: Buffer.alloc(0) }

export function createTransform(dataKeys: DataKeys, random: Random, wishOf: WishOf): ObjectTransform {
  const createKey = (
    place: ObjectPlace,
    wish: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<NewDataKey | undefined> => {
    const create = (wanted: EncryptionRequest | undefined) => wanted && dataKeys.create(place, wanted)
    const inherit = (wanted: EncryptionRequest | undefined) =>
      wanted !== undefined || source === undefined ? create(wanted) : later(ofCopy(source), create)
    return later(wishOf(place.bucket, wish), inherit)
  }

  /**
   * What a copy is where nobody says. Of what a customer's key encrypts, which does not come for copies: encrypted, too, if only there
   * are keys. Others without key management cannot be read, so that there is no copy.
   */
  const ofCopy = ({
    type,
    kmsKeyId,
    bucketKeyEnabled,
  }: ObjectEncryption): MaybePromise<EncryptionRequest | undefined> => {
    if (type === 'SSE-KMS') {
      return later(dataKeys.presentKeyId(kmsKeyId), id => ({ type, kmsKeyId: id, bucketKeyEnabled }))
    }
    return type === 'SSE-S3' || dataKeys.canSeal() ? { type: 'SSE-S3' } : undefined
  }

  const openStreams = (
    version: TransformedVersion,
    { isDirect, identity, salts }: SealedVersion,
    dataKey: KeyObject,
  ): EncryptedStream[] => {
    const parts = version.parts.length === 0 ? [{ partNumber: 0, sizeBytes: version.sizeBytes }] : version.parts
    if (isDirect ? version.parts.length > 0 : parts.length !== salts.length) throw notAsStored()
    // Each part is bound to its number; that they follow one another is how uploads are completed.
    for (let i = 1; i < parts.length; i++) {
      if (parts[i]!.partNumber <= parts[i - 1]!.partNumber) throw notAsStored()
    }
    return parts.map(({ partNumber, sizeBytes }, i) => ({
      sizeBytes,
      cipher: () => new ChunkCipher(dataKey, { identity, partNumber, salt: salts[i] }),
    }))
  }

  return {
    begin(place, wish, source) {
      const made = createKey(place, wish, source)
      if (made instanceof Promise) return made.then(late => late && writeVersion(late))
      return made && writeVersion(made)
    },

    beginUpload(place, wish, source) {
      const made = createKey(place, wish, source)
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
      const opened = dataKeys.open(place, type, sealed, customerKey)
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
      // Of an object with bytes none were asked for. Of one without, that there are none is read.
      if (length === 0 && version.sizeBytes > 0) return empty
      const sizes = version.parts.length === 0 ? [version] : version.parts
      const range = storedRange(sizes, start, length)
      // Before the key: bytes are kept for a reader only from when it asked for them, and a key server may take its time.
      const stored = readStored(range.start, range.length)
      const opened = attempt(() => dataKeys.open(version, type, sealed, customerKey), stored)
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
      const dataKey = await dataKeys.sealAgain(from, to, sealed, kmsKeyId)
      return { ...encryption, sealed: encodeSealed({ ...sealed, dataKey }) }
    },
  }
}

function later<A, B>(value: MaybePromise<A>, then: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(then) : then(value)
}

/** Without a key nobody reads on: what was opened is closed. */
function attempt<T>(open: () => MaybePromise<T>, stored: MaybePromise<ObjectData>): MaybePromise<T> {
  const close = (error: unknown): never => {
    Promise.resolve(stored).then(
      data => data.kind === 'stream' && data.close(),
      // Reading failed as well; that the key is missing is what the caller hears.
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
