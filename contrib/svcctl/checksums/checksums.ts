/** The ten checksum algorithms of S3, incremental. Digests are big-endian, as S3 encodes them. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { IHasher } from 'hash-wasm'
import { combineCrc, isCombining } from './crc-combine.ts'

export type ChecksumAlgorithm =
  | 'CRC32'
  | 'CRC32C'
  | 'CRC64NVME'
  | 'SHA1'
  | 'SHA256'
  | 'SHA512'
  | 'MD5'
  | 'XXHASH64'
  | 'XXHASH3'
  | 'XXHASH128'

/** One computation. */
export interface Checksum {
  update(bytes: Uint8Array): void
  /** The raw digest; ends the computation. */
  digest(): Buffer
}

type Create = () => Checksum

const node = (name: string) => (): Checksum => {
  const hash = createHash(name)
  return {
    update: bytes => void hash.update(bytes),
    digest: () => hash.digest(),
  }
}

function createCrc32(): Checksum {
  let value = 0
  return {
    update(bytes) {
      value = crc32(bytes, value)
    },
    digest() {
      const digest = Buffer.allocUnsafe(4)
      digest.writeUInt32BE(value)
      return digest
    },
  }
}

/** CRC-32C (Castagnoli), reflected. */
const crc32cPolynomial = 0x82f63b78

/** One hasher serves any number of computations: a computation that loses its turn keeps its saved state. */
function share(hasher: IHasher): Create {
  let owner: Turn | undefined

  class Turn implements Checksum {
    #saved: Uint8Array | undefined

    update(bytes: Uint8Array): void {
      this.#take()
      hasher.update(bytes)
    }

    digest(): Buffer {
      this.#take()
      owner = undefined
      return Buffer.from(hasher.digest('binary'))
    }

    #take(): void {
      if (owner === this) return
      if (owner !== undefined) owner.#saved = hasher.save()
      if (this.#saved === undefined) hasher.init()
      else hasher.load(this.#saved)
      this.#saved = undefined
      owner = this
    }
  }
  return () => new Turn()
}

const hasherLoaders: Readonly<Partial<Record<ChecksumAlgorithm, () => Promise<Create>>>> = {
  CRC32C: async () => share(await (await import('./hashers.ts')).createCRC32(crc32cPolynomial)),
  CRC64NVME: async () => (await import('./crc64-nvme.ts')).loadCrc64Nvme(),
  XXHASH64: async () => share(await (await import('./hashers.ts')).createXXHash64()),
  XXHASH3: async () => share(await (await import('./hashers.ts')).createXXHash3()),
  XXHASH128: async () => share(await (await import('./hashers.ts')).createXXHash128()),
}

const creators: Partial<Record<ChecksumAlgorithm, Create>> = {
  CRC32: createCrc32,
  SHA1: node('sha1'),
  SHA256: node('sha256'),
  SHA512: node('sha512'),
  MD5: node('md5'),
}

/** Loads the WebAssembly of the algorithms that need it. Each algorithm must be loaded before its first computation. */
export async function loadChecksum(algorithm: ChecksumAlgorithm): Promise<void> {
  if (creators[algorithm] !== undefined) return
  const created = await hasherLoaders[algorithm]!()
  // Two callers may load at a time: all computations must share one hasher.
  creators[algorithm] ??= created
}

export function createChecksum(algorithm: ChecksumAlgorithm): Checksum {
  const create = creators[algorithm]
  if (create === undefined) throw new Error(`the checksum ${algorithm} has not been loaded`)
  return create()
}

/** The digest of bytes that are all there. */
export function computeChecksum(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Buffer {
  const checksum = createChecksum(algorithm)
  checksum.update(bytes)
  return checksum.digest()
}

/** The CRC of A‖B from the CRCs of A and B. Throws RangeError for algorithms that do not combine. */
export function combineChecksums(algorithm: ChecksumAlgorithm, a: Buffer, b: Buffer, sizeOfB: number): Buffer {
  if (!isCombining(algorithm)) throw new RangeError(`${algorithm} of a whole cannot be computed from its parts`)
  return combineCrc(algorithm, a, b, sizeOfB)
}
