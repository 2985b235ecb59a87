import type { DriveCount, HealthState } from 'svc/plugins/health/api'
import type { DriveStatus } from 'svc/plugins/storage/api'

/** A full drive still serves reads and deletes. */
export function isReadable({ state }: DriveStatus): boolean {
  return state === 'online' || state === 'full'
}

export function checkDrives(drives: readonly DriveStatus[]): HealthState {
  const online = drives.filter(isReadable).length
  if (drives.length === 0) return { ok: false, detail: 'no drives' }
  return online === drives.length ? { ok: true } : { ok: false, detail: `${online} of ${drives.length} drives online` }
}

export function countDrives(drives: readonly DriveStatus[]): DriveCount {
  return {
    drives: drives.length,
    drivesOnline: drives.filter(isReadable).length,
    writeQuorum: drives.length > 0 && drives.every(({ state }) => state === 'online'),
  }
}
