/** How sets of drives are, from how their drives are: for health, metrics and the server's description of itself. */
import type { DriveStatus } from './api.ts'

export interface SetSummary {
  readonly pool: number
  readonly set: number
  readonly drives: number
  /** Can be read; a full one, too. */
  readonly online: number
  /** Lack records or shards, and are being given them. */
  readonly healing: number
  readonly parityCount: number
  readonly readQuorum: number
  readonly writeQuorum: number
  /** `degraded`: drives are away or catch up, reads and writes go on. `read_only`: too few of them take writes. */
  readonly state: 'ok' | 'degraded' | 'read_only' | 'unavailable'
}

/** A full drive still serves reads and deletes. */
export function isReadable({ state }: DriveStatus): boolean {
  return state === 'online' || state === 'full'
}

/** Drives that are in no set are one of their own, in which everything depends on each of them. */
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
  const { parityCount, readQuorum, writeQuorum } = place ?? { parityCount: 0, readQuorum: count, writeQuorum: count }
  const usable = drives.filter(drive => isReadable(drive) && drive.place?.isCurrent !== false)
  const writable = usable.filter(({ state }) => state === 'online').length
  return {
    pool: place?.pool ?? 0,
    set: place?.set ?? 0,
    drives: count,
    online: drives.filter(isReadable).length,
    healing: drives.filter(drive => drive.place?.isHealing === true).length,
    parityCount,
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
