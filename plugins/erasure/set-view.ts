/**
 * A set as readers see it, in any thread: its drives by slot, who leads, and the codec. Which drives can be read changes while the
 * server runs; whoever holds a view asks again each time.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Drive } from 'svc/plugins/drive/api'
import type { BlobRef, Redundancy } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'

export interface SetView {
  readonly dataCount: number
  readonly parityCount: number
  /** Data and parity: a shard for each. */
  readonly slotCount: number
  readonly unitBytes: number
  /** For so many parity shards among as many shards as there are slots. */
  codeOf(parityCount: number): ErasureCode
  /** Of new data. */
  parityOf(redundancy: Redundancy | undefined): number
  /** Of the slot, when it can be read and written. */
  driveAt(slot: number): Drive | undefined
  /** The drive that answers for all records, once this thread has it; throws or rejects with `unavailable` when none can. */
  leader(): MaybePromise<Leader>
  /** Waits for drives that can be used, and that this thread is about to have. */
  ready(): MaybePromise<void>
  /** Of the drive that has the slot now. */
  generationAt(slot: number): number
  /** Told of a shard that could not be read although its drive answers; it will be made anew. */
  onMissingShard(missingShard: MissingShard): void
  /** Told of a drive's error that is not about one shard. */
  onDriveError(slot: number, error: unknown): void
}

export interface Leader {
  readonly slot: number
  readonly drive: Drive
}

/** A shard that is not what it should be: beside a record, or of a blob. */
export interface MissingShard {
  readonly slot: number
  readonly key?: Buffer
  readonly identity?: number
  readonly blobId?: string
}

/**
 * References to blobs of a set have no checksum; where theirs would be they say with how many parity shards the blob was written. 0: with
 * as many as the set has.
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

/** Of the ids that drives make. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** The first of the characters that are random and do not name a folder. */
const slotCharacter = 10

/**
 * The id that a blob's shard has on the drive of a slot. Different on each: a file that has come to another drive, because folders were
 * exchanged while the server ran, is not found there and made anew, instead of being taken for that drive's shard.
 */
export function idInSlot(id: string, slot: number): string {
  const shifted = alphabet[(alphabet.indexOf(id[slotCharacter]!) + slot) % alphabet.length]!
  return id.slice(0, slotCharacter) + shifted + id.slice(slotCharacter + 1)
}

/** The other way round: which blob it is a shard of. */
export function idFromSlot(idInSlot: string, slot: number): string {
  const shifted = alphabet.indexOf(idInSlot[slotCharacter]!) - slot
  const character = alphabet[(shifted + alphabet.length) % alphabet.length]!
  return idInSlot.slice(0, slotCharacter) + character + idInSlot.slice(slotCharacter + 1)
}

export function idsInSlot(ids: readonly string[], slot: number): readonly string[] {
  return ids.length === 0 ? ids : ids.map(id => idInSlot(id, slot))
}

/** Whether an error says that the bytes are not there or are wrong, rather than that the drive cannot be asked. */
export function isAboutShard(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'corrupt' || code === 'gone'
}
