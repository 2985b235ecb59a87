/** Requests and results of speed tests. Rates are in bytes per second, times in milliseconds. */
export const speedtestKinds = ['drive', 'object', 'net'] as const
export type SpeedtestKind = (typeof speedtestKinds)[number]

export interface DriveSpeed {
  readonly endpoint: string
  readonly path: string
  /** 0 where `error` is not empty. */
  readonly writeBytesPerSecond: number
  readonly readBytesPerSecond: number
  readonly error: string
}

export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface ObjectSpeed {
  readonly bytesPerSecond: number
  readonly objectsPerSecond: number
  readonly latencyMs: Quantiles
  /** Until the first byte, of downloads. */
  readonly ttfbMs?: Quantiles
  readonly errors: number
}
