import { createHash, type Hash, hash } from 'node:crypto'
import { crc32, crc32c } from '@node-rs/crc32'
import { createXXHash3, createXXHash64, createXXHash128 } from 'hash-wasm'
import { algorithmByHeader, algorithms, algorithmTable } from './algorithms.ts'
import type { Checksum, ChecksumAlgorithm, ChecksumsService, DigestsOptions, StreamDigests } from './api.ts'
import { combineCrc, combinePolynomials } from './crc-combine.ts'
import { createCrc64Nvme } from './crc64-nvme.ts'
import { Md5Batch } from './md5-batch.ts'
import { createMd5Streams } from './md5-streams.ts'
import { createSharedHasher, type SharedHasher } from './shared-hasher.ts'

/** How digests of one algorithm are made. */
interface Engine {
  create(): Checksum
  compute(bytes: Uint8Array): Buffer
}

type Crc = (bytes: Uint8Array, previous: number) => number

class RunningCrc implements Checksum {
  readonly #crc: Crc
  #value = 0

  constructor(crc: Crc) {
    this.#crc = crc
  }

  update(bytes: Uint8Array): void {
    this.#value = this.#crc(bytes, this.#value)
  }

  digest(): Buffer {
    return bigEndian(this.#value)
  }
}

class RunningHash implements Checksum {
  readonly #hash: Hash

  constructor(name: string) {
    this.#hash = createHash(name)
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  digest(): Buffer {
    return this.#hash.digest()
  }
}

function bigEndian(value: number): Buffer {
  const digest = Buffer.allocUnsafe(4)
  digest.writeUInt32BE(value >>> 0, 0)
  return digest
}

const crcEngine = (crc: Crc): Engine => ({
  create: () => new RunningCrc(crc),
  compute: bytes => bigEndian(crc(bytes, 0)),
})

const hashEngine = (name: string): Engine => ({
  create: () => new RunningHash(name),
  compute: bytes => hash(name, bytes, 'buffer'),
})

export interface Checksums extends ChecksumsService {
  /** Makes the WebAssembly hashers; until it resolves, their algorithms throw. Idempotent. */
  start(): Promise<void>
}

/** `createElsewhere`: digests that are not computed in this thread, where it returns any. */
export function createChecksums(createElsewhere?: (options: DigestsOptions) => StreamDigests | undefined): Checksums {
  const notStarted: SharedHasher = {
    create: () => throwNotStarted(),
    compute: () => throwNotStarted(),
  }
  const engines: Record<ChecksumAlgorithm, Engine> = {
    CRC32: crcEngine(crc32),
    CRC32C: crcEngine(crc32c),
    CRC64NVME: notStarted,
    SHA1: hashEngine('sha1'),
    SHA256: hashEngine('sha256'),
    SHA512: hashEngine('sha512'),
    MD5: hashEngine('md5'),
    XXHASH64: notStarted,
    XXHASH3: notStarted,
    XXHASH128: notStarted,
  }
  const md5 = createMd5Streams()
  const md5Batch = new Md5Batch()
  const createHere = ({ md5: withMd5, algorithm }: DigestsOptions): StreamDigests => {
    const ofMd5 = withMd5 ? md5.create() : undefined
    const checksum = algorithm === undefined ? undefined : engines[algorithm].create()
    return {
      update(bytes) {
        checksum?.update(bytes)
        return ofMd5?.update(bytes)
      },
      digest: async () => ({ md5: await ofMd5?.digest(), checksum: checksum?.digest() }),
      release: () => ofMd5?.release(),
    }
  }
  let starting: Promise<void> | undefined

  async function load(): Promise<void> {
    const [xxhash64, xxhash3, xxhash128] = await Promise.all([createXXHash64(), createXXHash3(), createXXHash128()])
    engines.CRC64NVME = createCrc64Nvme()
    engines.XXHASH64 = createSharedHasher(xxhash64)
    engines.XXHASH3 = createSharedHasher(xxhash3)
    engines.XXHASH128 = createSharedHasher(xxhash128)
  }

  return {
    algorithms,
    start() {
      starting ??= load()
      return starting
    },
    create: algorithm => engines[algorithm].create(),
    createDigests: options => createElsewhere?.(options) ?? createHere(options),
    computeMd5: bytes => md5Batch.digest(bytes),
    compute: (algorithm, bytes) => engines[algorithm].compute(bytes),
    size: algorithm => algorithmTable[algorithm].sizeBytes,
    header: algorithm => algorithmTable[algorithm].header,
    fromHeader: header => algorithmByHeader.get(header),
    types: algorithm => algorithmTable[algorithm].types,
    combine(algorithm, a, b, sizeOfB) {
      if (algorithm !== 'CRC32' && algorithm !== 'CRC32C' && algorithm !== 'CRC64NVME') {
        throw new RangeError(`${algorithm} of a whole cannot be computed from its parts`)
      }
      return combineCrc(combinePolynomials[algorithm], a, b, sizeOfB)
    },
    composite(algorithm, parts) {
      if (!algorithmTable[algorithm].composite) throw new RangeError(`${algorithm} has no composite form`)
      return engines[algorithm].compute(Buffer.concat(parts))
    },
  }
}

function throwNotStarted(): never {
  throw new Error('checksums have not been started')
}
