/**
 * Bodies and blobs that readers found missing or damaged although records refer to them: logged once each, counted, and told in the
 * drive's status. Only for a drive that alone has its data: sets rebuild shards, and have their own ledger.
 */
import { isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { isUnreadable } from './journal-reader.ts'

/** Further ones are not counted. */
const damagesMax = 10_000

export type DamagedPlace = { readonly blobId: string } | { readonly segment: number; readonly offset: number }

/**
 * - `damaged`: a record refers to the blob, or the body's segment has live bytes. It is noted.
 * - `outdated`: the bytes were deleted, or have moved.
 * - `away`: the drive is not where it was, so nothing can be said of its bytes.
 */
export type DamageFinding = 'damaged' | 'outdated' | 'away'

export type NoteDamage = (place: DamagedPlace, reason: string) => MaybePromise<DamageFinding>

export interface DamageOptions {
  readonly log: Logger
  readonly path: string
  isBlobReferenced(id: string): boolean
  hasLiveBytes(segment: number): boolean
  isAway(): boolean
}

/** In the storage thread. */
export class Damage {
  readonly #options: DamageOptions
  readonly #names = new Set<string>()

  constructor(options: DamageOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#names.size
  }

  /** One sentence for the drive's status. */
  get problem(): string | undefined {
    if (this.count === 0) return undefined
    return `${this.count} bodies of objects are missing or damaged: the log names them. Upload their objects again, or delete them.`
  }

  readonly note: NoteDamage = (place, reason) => {
    const { log, path, isBlobReferenced, hasLiveBytes, isAway } = this.#options
    const isNeeded = 'blobId' in place ? isBlobReferenced(place.blobId) : hasLiveBytes(place.segment)
    if (!isNeeded) return 'outdated'
    if (isAway()) return 'away'
    const name = nameOf(place)
    if (this.#names.has(name) || this.count >= damagesMax) return 'damaged'
    this.#names.add(name)
    log.error({ path, ...place, reason }, 'the body of an object is missing or damaged')
    return 'damaged'
  }

  /** The records that referred to these blobs are gone. */
  forgetBlobs(ids: readonly string[]): void {
    if (this.count > 0) for (const blobId of ids) this.#names.delete(nameOf({ blobId }))
  }

  /** Compaction has deleted the segment: its bodies have moved, or their records are gone. */
  forgetSegment(segment: number): void {
    for (const name of this.#names) if (name.startsWith(`${segment}:`)) this.#names.delete(name)
  }
}

const awayDetail = 'The drive was moved away or is not mounted: its data can be read again when it is back.'

function nameOf(place: DamagedPlace): string {
  return 'blobId' in place ? place.blobId : `${place.segment}:${place.offset}`
}

/**
 * The error that a reader gets: `gone` if the record is outdated, `corrupt` if the drive has lost the bytes, `unavailable` if the drive itself is not
 * there. Without `note`: `gone` if the bytes are missing, otherwise the error itself.
 */
export async function explainUnreadable(error: unknown, place: DamagedPlace, note: NoteDamage | undefined) {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT' || isGone(error)
  if (note === undefined) return isMissing ? storageErrors.gone() : error
  if (!isMissing && !isCorrupt(error) && !isUnreadable(error)) return error
  const what = 'blobId' in place ? `Blob ${place.blobId}` : `A body in segment ${place.segment} at ${place.offset}`
  const reason = isMissing ? 'its file is missing' : (error as Error).message
  try {
    const finding = await note(place, reason)
    if (finding === 'away') return storageErrors.unavailable(awayDetail, { cause: error })
    if (isMissing && finding === 'outdated') return storageErrors.gone()
  } catch {
    // The storage thread is closing the drive: it cannot say.
    if (isMissing) return storageErrors.gone()
  }
  return isCorrupt(error) ? error : storageErrors.corrupt(`${what} is damaged: ${reason}.`, { cause: error })
}

/** A read of a body of the journal, whose rejection is explained. */
export function explainedBody(
  read: MaybePromise<Buffer>,
  { segment, offset }: BodyRef,
  note: NoteDamage | undefined,
): MaybePromise<Buffer> {
  if (note === undefined || !(read instanceof Promise)) return read
  return read.catch(async error => {
    throw await explainUnreadable(error, { segment, offset }, note)
  })
}

function isGone(error: unknown): boolean {
  return isCatalogError(error) && error.code === 'gone'
}

function isCorrupt(error: unknown): boolean {
  return isCatalogError(error) && error.code === 'corrupt'
}
