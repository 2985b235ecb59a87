import type { ChecksumAlgorithm, ChecksumType } from './api.ts'

/** Facts about one algorithm that never change. */
export interface AlgorithmFacts {
  /** Digest length in bytes. */
  readonly sizeBytes: number
  /** Lower-case name of the header and of the trailer. */
  readonly header: string
  /** What a multipart upload may ask for. Source: AWS "Checking object integrity", table of types per algorithm. */
  readonly types: readonly ChecksumType[]
  /** `COMPOSITE` is allowed. */
  readonly composite: boolean
}

const facts = (
  algorithm: ChecksumAlgorithm,
  sizeBytes: number,
  ...types: readonly [ChecksumType, ...ChecksumType[]]
): AlgorithmFacts => ({
  sizeBytes,
  header: `x-amz-checksum-${algorithm.toLowerCase()}`,
  types: Object.freeze(types),
  composite: types.includes('COMPOSITE'),
})

/** In the order of the AWS documentation. The first of `types` is what S3 takes when the client names none. */
export const algorithmTable: Readonly<Record<ChecksumAlgorithm, AlgorithmFacts>> = {
  CRC32: facts('CRC32', 4, 'COMPOSITE', 'FULL_OBJECT'),
  CRC32C: facts('CRC32C', 4, 'COMPOSITE', 'FULL_OBJECT'),
  CRC64NVME: facts('CRC64NVME', 8, 'FULL_OBJECT'),
  SHA1: facts('SHA1', 20, 'COMPOSITE'),
  SHA256: facts('SHA256', 32, 'COMPOSITE'),
  SHA512: facts('SHA512', 64, 'COMPOSITE'),
  MD5: facts('MD5', 16, 'COMPOSITE'),
  XXHASH64: facts('XXHASH64', 8, 'COMPOSITE'),
  XXHASH3: facts('XXHASH3', 8, 'COMPOSITE'),
  XXHASH128: facts('XXHASH128', 16, 'COMPOSITE'),
}

export const algorithms = Object.freeze(Object.keys(algorithmTable)) as readonly ChecksumAlgorithm[]

/** By lower-case header name. */
export const algorithmByHeader: ReadonlyMap<string, ChecksumAlgorithm> = new Map(
  algorithms.map(algorithm => [algorithmTable[algorithm].header, algorithm]),
)
