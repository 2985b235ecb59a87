/** Derives the state of erasure sets from the states of their drives: for health, metrics and the Admin API. */
import type { DriveStatus } from './api.ts'

export interface SetSummary {
  readonly pool: number
  readonly set: number
  readonly drives: number
  /** Drives that can be read, full ones included. */
  readonly online: number
  /** Of these, the drives that have caught up: they have all records. */
  readonly current: number
  /** Drives that lack records or shards and are being healed. */
  readonly healing: number
  readonly parityCount: number
  /** Of what is stored with reduced redundancy from now on. */
  readonly reducedParityCount: number
  /** The least of what may be stored. */
  readonly leastParityCount: number
  readonly readQuorum: number
  readonly writeQuorum: number
  /** `degraded`: drives are offline or catching up, reads and writes go on. `read_only`: too few drives accept writes. */
  readonly state: 'ok' | 'degraded' | 'read_only' | 'unavailable'
}

/** A full drive still serves reads and deletes. */
export function isReadable({ state }: DriveStatus): boolean {
  return state === 'online' || state === 'full'
}

/** Used bytes of the drive's file system, as `df` shows them: neither free nor kept for root. */
export function usedBytes(drive: Pick<DriveStatus, 'totalBytes' | 'freeBytes' | 'reservedBytes'>): number {
  const { totalBytes, freeBytes, reservedBytes = 0 } = drive
  return totalBytes - freeBytes - reservedBytes
}

/** Drives outside of a set count as sets of one, each of which everything depends on. */
export function summarizeSets(drives: readonly DriveStatus[]): readonly SetSummary[] {
  const sets = new Map<string, DriveStatus[]>()
  for (const drive of drives) {
    const key = `${drive.place?.pool ?? 0} ${drive.place?.set ?? 0}`
    const members = sets.get(key)
    if (members === undefined) sets.set(key, [drive])
    else members.push(drive)
  }
  return [...sets.values()].map(summarize)
}

function summarize(drives: readonly DriveStatus[]): SetSummary {
  const count = drives.length
  const place = drives[0]!.place
  const alone = { parityCount: 0, reducedParityCount: 0, leastParityCount: 0, readQuorum: count, writeQuorum: count }
  const { parityCount, reducedParityCount, leastParityCount, readQuorum, writeQuorum } = place ?? alone
  const usable = drives.filter(drive => isReadable(drive) && drive.place?.isCurrent !== false)
  const writable = usable.filter(({ state }) => state === 'online').length
  return {
    pool: place?.pool ?? 0,
    set: place?.set ?? 0,
    drives: count,
    online: drives.filter(isReadable).length,
    current: usable.length,
    healing: drives.filter(drive => drive.place?.isHealing === true).length,
    parityCount,
    reducedParityCount,
    leastParityCount,
    readQuorum,
    writeQuorum,
    state:
      writable === count
        ? 'ok'
        : writable >= writeQuorum
          ? 'degraded'
          : usable.length >= readQuorum
            ? 'read_only'
            : 'unavailable',
  }
}
