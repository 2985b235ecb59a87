import type { DriveCount, HealthState } from 'svc/plugins/health/api'
import { type DriveStatus, isReadable, summarizeSets } from './api.ts'

/** Not ready where clients are better sent elsewhere: nothing can be read, or a set has too few drives to be written. */
export function checkDrives(drives: readonly DriveStatus[]): HealthState {
  if (drives.length === 0) return { ok: false, detail: 'no drives' }
  const online = drives.filter(isReadable).length
  const isFull = drives.some(({ state }) => state === 'full')
  const sets = summarizeSets(drives)
  const count = `${online} of ${drives.length} drives online`
  if (sets.some(({ state }) => state === 'unavailable')) return { ok: false, detail: count }
  const lacking = drives.filter(drive => isReadable(drive) && drive.place?.isCurrent === false).length
  if (sets.some(({ current, writeQuorum }) => current < writeQuorum)) {
    return { ok: false, detail: `no write quorum: ${count}` }
  }
  if (online < drives.length) return { ok: true, detail: count }
  if (lacking > 0) return { ok: true, detail: `${lacking} of ${drives.length} drives catch up` }
  if (sets.some(({ state }) => state === 'read_only')) return { ok: true, detail: 'full: new data is refused' }
  const isDamaged = drives.some(
    ({ metrics = {} }) => Number(metrics.damagedBodies ?? 0) + Number(metrics.damagedSegments ?? 0) > 0,
  )
  if (isDamaged) return { ok: true, detail: 'stored data is damaged' }
  return { ok: true, detail: isFull ? 'a drive is full' : undefined }
}

export function countDrives(drives: readonly DriveStatus[]): DriveCount {
  const sets = summarizeSets(drives)
  return {
    drives: drives.length,
    drivesOnline: drives.filter(isReadable).length,
    writeQuorum: sets.length > 0 && sets.every(({ state }) => state === 'ok' || state === 'degraded'),
    needsRestart: drives.some(({ needsRestart }) => needsRestart === true),
  }
}
