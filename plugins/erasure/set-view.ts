/**
 * A set as readers and blob writers see it, in any thread: its drives by slot, the leader, and the codec. Implemented by `ErasureSet`
 * (storage thread) and `WorkerSet`. Which drives can be used changes at any time, so callers ask the view each time.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Drive } from 'svc/plugins/drive/api'
import type { BlobRef, Redundancy } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import { writeQuorumOf } from './parity.ts'

export interface SetView {
  readonly dataCount: number
  readonly parityCount: number
  /** Number of shards: data and parity. */
  readonly slotCount: number
  readonly unitBytes: number
  /** The code with this many parity shards, and as many shards in all as there are slots. */
  codeOf(parityCount: number): ErasureCode
  /** Parity of new data. */
  parityOf(redundancy: Redundancy | undefined): number
  /** The drive in the slot, if it can be read and written. */
  driveAt(slot: number): Drive | undefined
  /** Throws `unavailable` while too few drives have all records: a commit would be refused for that. Without I/O. */
  requireQuorum(): void
  /** The drive that has all records. Resolves once this thread is attached to it; throws or rejects with `unavailable` if there is none. */
  leader(): MaybePromise<Leader>
  /** Waits until this thread is attached to all usable drives. */
  ready(): MaybePromise<void>
  /** Generation of the drive that is in the slot now. */
  generationAt(slot: number): number
  /** Reports a shard that could not be read although its drive answers; it will be rebuilt. */
  onMissingShard(missingShard: MissingShard): void
  /** Reports an error of a drive that is not about one shard. */
  onDriveError(slot: number, error: unknown): void
}

/** For implementations of `SetView`: `currentCount` drives have all records. */
export function requireQuorum(
  { slotCount, dataCount, parityCount }: Pick<SetView, 'slotCount' | 'dataCount' | 'parityCount'>,
  currentCount: number,
): void {
  const needed = writeQuorumOf(dataCount, parityCount)
  if (currentCount >= needed) return
  throw storageErrors.unavailable(
    `${currentCount} of ${slotCount} drives have all records; ${needed} are needed to write.`,
  )
}

export interface Leader {
  readonly slot: number
  readonly drive: Drive
}

/** A missing or corrupt shard: beside a record, or of a blob. */
export interface MissingShard {
  readonly slot: number
  readonly key?: Buffer
  readonly identity?: number
  readonly blobId?: string
}

/**
 * References to blobs of a set have no checksum. Their `check` field tells with how many parity shards the blob was written: 0 for that of
 * the set, otherwise 1 + the number.
 */
export function checkOfBlob({ parityCount }: Pick<SetView, 'parityCount'>, ofBlob: number): number {
  return ofBlob === parityCount ? 0 : 1 + ofBlob
}

export function parityOfBlob({ parityCount }: Pick<SetView, 'parityCount'>, { check }: Pick<BlobRef, 'check'>): number {
  return check === 0 ? parityCount : check - 1
}

export function slotOfShard({ slotCount }: Pick<SetView, 'slotCount'>, shard: number, rotation: number): number {
  return (shard + rotation) % slotCount
}

/** A blob's shards are rotated by its id, so that each drive gets as many data shards as the others. */
export function rotationOfBlob(id: string, slotCount: number): number {
  let sum = 0
  for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) >>> 0
  return sum % slotCount
}

/** Alphabet of the ids that drives make. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** The first random character of an id that is not part of a folder's name. */
const slotCharacter = 10

/**
 * The id of a blob's shard on the drive of a slot; different on each. So a file that has come to another drive, because folders were
 * exchanged while the server ran, is missing there and rebuilt, instead of being taken for that drive's shard.
 */
export function idInSlot(id: string, slot: number): string {
  const shifted = alphabet[(alphabet.indexOf(id[slotCharacter]!) + slot) % alphabet.length]!
  return id.slice(0, slotCharacter) + shifted + id.slice(slotCharacter + 1)
}

/** The inverse: id of the blob that this is a shard of. */
export function idFromSlot(idInSlot: string, slot: number): string {
  const shifted = alphabet.indexOf(idInSlot[slotCharacter]!) - slot
  const character = alphabet[(shifted + alphabet.length) % alphabet.length]!
  return idInSlot.slice(0, slotCharacter) + character + idInSlot.slice(slotCharacter + 1)
}

export function idsInSlot(ids: readonly string[], slot: number): readonly string[] {
  return ids.length === 0 ? ids : ids.map(id => idInSlot(id, slot))
}

/** Whether an error says that the bytes are missing or wrong, not that the drive has failed. */
export function isAboutShard(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'corrupt' || code === 'gone'
}
