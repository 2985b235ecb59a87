/**
 * The scanner: how often, and how fast, work in the background goes through what is stored. Who does such work (lifecycle rules, the
 * reading of every shard of a set) asks here.
 */
import type { BackgroundWorker } from 'svc/kernel'
import type { Settings } from 'svc/plugins/settings/api'

/** After a slice of work it rests this many times as long as the slice took, at most 15 s. */
export const rests = { fastest: 0, fast: 1, default: 2, slow: 10, slowest: 100 } as const

export interface ScannerSettings {
  readonly speed: keyof typeof rests
  /** How often lifecycle rules are applied, in milliseconds. */
  readonly cycle: number
  /** How often every shard is read, in milliseconds; 0: never. */
  readonly deep_cycle: number
}

export interface ScannerService {
  readonly settings: Settings<ScannerSettings>
  /** The same worker, resting between slices as the settings say, and at least as with `slowerThan`. */
  atSpeed(worker: BackgroundWorker, slowerThan?: ScannerSettings['speed']): BackgroundWorker
}

declare module 'svc/kernel' {
  interface Services {
    scanner: ScannerService
  }
}
