/** Checks that received bytes are those of the server: by a checksum of the whole object, or the ETag if it is an MD5. */
import { type ChecksumAlgorithm, loadChecksum } from '../checksums/checksums.ts'
import { isCombining } from '../checksums/crc-combine.ts'
import { failure } from '../errors.ts'
import type { ObjectFacts } from '../s3/object.ts'

export interface Expected {
  readonly algorithm: ChecksumAlgorithm
  readonly digest: Buffer
  /** The digest of the whole can be combined from those of its ranges. */
  readonly combines: boolean
}

/** Cheapest first; those that combine come before those that would need a second pass over a large file. */
const preference: readonly ChecksumAlgorithm[] = [
  'CRC32',
  'CRC32C',
  'CRC64NVME',
  'XXHASH3',
  'XXHASH128',
  'XXHASH64',
  'SHA256',
  'SHA1',
  'SHA512',
  'MD5',
]

const md5Pattern = /^[0-9a-f]{32}$/

/** Undefined: the server stores no comparable digest, and only the length is known. */
export async function expectedDigest(facts: ObjectFacts): Promise<Expected | undefined> {
  const algorithm = preference.find(name => facts.checksums.has(name))
  if (algorithm !== undefined) {
    await loadChecksum(algorithm)
    return { algorithm, digest: facts.checksums.get(algorithm)!, combines: isCombining(algorithm) }
  }
  if (facts.isEncrypted || !md5Pattern.test(facts.etag)) return undefined
  return { algorithm: 'MD5', digest: Buffer.from(facts.etag, 'hex'), combines: false }
}

export function requireDigest(expected: Expected, found: Buffer, what: string): void {
  if (found.equals(expected.digest)) return
  throw failure(
    'checksum_mismatch',
    `${what}: the received bytes are not those of the server (${expected.algorithm} ${found.toString('base64')} instead of ` +
      `${expected.digest.toString('base64')}). It was thrown away.`,
  )
}
