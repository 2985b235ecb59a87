/** The ten checksum algorithms of S3, incremental, in one table. Digests are big-endian as S3 encodes them. */
import type { MaybePromise } from 'svc/kernel'

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

export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE'

export interface Checksum {
  update(bytes: Uint8Array): void
  /** Raw digest bytes; ends the computation. */
  digest(): Buffer
}

/** One of several that run at the same time, and that wait for each other with some of their bytes. */
export interface StreamChecksum {
  /** Has taken the bytes when it returns; a promise, to be waited for before the next update, where there are enough of them for now. */
  update(bytes: Uint8Array): MaybePromise<void>
  /** Raw digest bytes; ends the computation. */
  digest(): Promise<Buffer>
  /** Gives it up, or does nothing after the digest. Always to be called: until then it takes the place of another. */
  release(): void
}

export interface DigestsOptions {
  readonly md5: boolean
  readonly algorithm: ChecksumAlgorithm | undefined
  /** Size of the whole body, if known: a large one may be digested on another thread. */
  readonly sizeBytes: number | undefined
}

/** Raw bytes of what was wanted. */
export interface Digests {
  readonly md5: Buffer | undefined
  readonly checksum: Buffer | undefined
}

/** Digests of one body. All of it rejects when the thread that computes them has ended. */
export interface StreamDigests {
  /** Has taken the bytes when it returns; a promise, to be waited for before the next update and before the bytes change, where it has not. */
  update(bytes: Uint8Array): MaybePromise<void>
  /** Ends the computation. */
  digest(): Promise<Digests>
  /** Gives it up, or does nothing after the digest. Always to be called: until then it takes the place of another. */
  release(): void
}

export interface ChecksumValue {
  readonly algorithm: ChecksumAlgorithm
  readonly type: ChecksumType
  /** Base64; of a composite value with `-<parts>` behind it. */
  readonly value: string
}

export interface ChecksumsService {
  /** In the order of the AWS documentation. */
  readonly algorithms: readonly ChecksumAlgorithm[]
  create(algorithm: ChecksumAlgorithm): Checksum
  /** Digests of the body of an upload, in one pass: much cheaper than `create('MD5')` while several run, and elsewhere where it is large. */
  createDigests(options: DigestsOptions): StreamDigests
  /** MD5 of a small body that is all there: much cheaper than `compute` while others come. The bytes must not change until it resolves. */
  computeMd5(bytes: Uint8Array): MaybePromise<Buffer>
  /** Digest of bytes that are all there: cheaper than create, update, digest. */
  compute(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Buffer
  /** Digest length in bytes. */
  size(algorithm: ChecksumAlgorithm): number
  /** Lower-case header and trailer name: `x-amz-checksum-crc32`. */
  header(algorithm: ChecksumAlgorithm): string
  /** The algorithm of a header name, or undefined. */
  fromHeader(header: string): ChecksumAlgorithm | undefined
  /** The types that the legality table allows for a multipart upload; the first is the default. */
  types(algorithm: ChecksumAlgorithm): readonly ChecksumType[]
  /** Checksum of the concatenation A+B from those of A and B (CRC family only; throws RangeError for others). */
  combine(algorithm: ChecksumAlgorithm, a: Buffer, b: Buffer, sizeOfB: number): Buffer
  /** Checksum of the concatenated raw digests of the parts, without the `-<parts>`. RangeError where there is no COMPOSITE. */
  composite(algorithm: ChecksumAlgorithm, parts: readonly Buffer[]): Buffer
}

export { type Checksums, createChecksums } from './checksums.ts'

declare module 'svc/kernel' {
  interface Services {
    checksums: ChecksumsService
  }
}
