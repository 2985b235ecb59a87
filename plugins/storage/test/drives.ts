/** Drives as backends tell of them. */
import type { DriveStatus } from '../api.ts'

type Changes = { readonly [Field in keyof DriveStatus]?: DriveStatus[Field] }

/** Online, in a set of four with a parity of two. */
export function drive(slot: number, changes: Changes = {}, place: Partial<NonNullable<DriveStatus['place']>> = {}) {
  return {
    path: `/d${slot}`,
    id: String(slot),
    state: 'online',
    error: undefined,
    totalBytes: 1000,
    freeBytes: 600,
    reservedBytes: 50,
    freeInodes: 90,
    metrics: { damagedSegments: 0, damagedBodies: 0 },
    place: {
      pool: 0,
      set: 0,
      slot,
      parityCount: 2,
      reducedParityCount: 1,
      leastParityCount: 1,
      readQuorum: 2,
      writeQuorum: 3,
      isCurrent: true,
      isHealing: false,
      ...place,
    },
    ...changes,
  } satisfies DriveStatus
}
