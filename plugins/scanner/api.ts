/**
 * The service `scanner`: the settings for background work that goes through all stored data, and how fast it may run. Used by
 * `lifecycle` (rules) and `heal` (scrubbing).
 */
import type { BackgroundWorker } from 'svc/kernel'
import type { Settings } from 'svc/plugins/settings/api'

/** How long a worker rests after a slice of work, as a multiple of the slice's duration; at most 15 s. */
export const rests = { fastest: 0, fast: 1, default: 2, slow: 10, slowest: 100 } as const

export interface ScannerSettings {
  readonly speed: keyof typeof rests
  /** How often lifecycle rules are applied, in milliseconds. */
  readonly cycle: number
  /** How often every shard is scrubbed, in milliseconds; 0: never. */
  readonly deep_cycle: number
}

export interface ScannerService {
  readonly settings: Settings<ScannerSettings>
  /** Wraps a worker so that it pauses between slices as the settings say, and at least as long as with the speed `slowerThan`. */
  atSpeed(worker: BackgroundWorker, slowerThan?: ScannerSettings['speed']): BackgroundWorker
}

declare module 'svc/kernel' {
  interface Services {
    scanner: ScannerService
  }
}
