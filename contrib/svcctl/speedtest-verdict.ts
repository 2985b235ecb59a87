/** Explains the results of a speed test in sentences. */
import { formatBytes } from './formatting.ts'

interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface DriveSpeed {
  readonly path: string
  readonly writeBytesPerSecond: number
  readonly readBytesPerSecond: number
  readonly error: string
}

export interface ObjectSpeed {
  readonly bytesPerSecond: number
  readonly objectsPerSecond: number
  readonly latencyMs: Quantiles
  readonly ttfbMs?: Quantiles
  readonly errors: number
}

export interface SpeedtestResult {
  readonly kind: string
  readonly drive?: { readonly drives: readonly DriveSpeed[] }
  readonly object?: {
    readonly size: number
    readonly concurrency: number
    readonly put: ObjectSpeed
    readonly get: ObjectSpeed
    readonly nodes: readonly { readonly error: string }[]
  }
}

/** A drive below this share of the median is slower than the others, and not by chance. */
const slowShare = 0.6
/** The slowest hundredth takes so many times as long as the half: something is in the way now and then. */
const longTail = 10

export function verdictOf({ drive, object }: SpeedtestResult): string[] {
  if (drive !== undefined) return verdictOfDrives(drive.drives)
  return object === undefined ? [] : verdictOfObjects(object)
}

/** Limits of the measurement, in sentences. */
export function failuresOf({ drive, object }: SpeedtestResult): string[] {
  const drives = (drive?.drives ?? [])
    .filter(({ error }) => error !== '')
    .map(({ path, error }) => `${path} was not measured: ${error}.`)
  if (object === undefined) return drives
  const { put, get, nodes } = object
  const count = put.errors + get.errors
  if (count === 0) return drives
  const reason = nodes.find(({ error }) => error !== '')?.error ?? 'unknown'
  return [...drives, `${count} ${count === 1 ? 'object was' : 'objects were'} not stored or read: ${reason}.`]
}

function verdictOfDrives(all: readonly DriveSpeed[]): string[] {
  const measured = all.filter(({ error }) => error === '')
  if (measured.length === 0) return ['No drive was measured.']
  if (measured.length === 1) {
    const [{ writeBytesPerSecond, readBytesPerSecond }] = measured as [DriveSpeed]
    return [
      `The drive writes as fast as a network of ${network(writeBytesPerSecond)}, and reads as fast as one of ${network(readBytesPerSecond)}.`,
    ]
  }
  const slow = (['write', 'read'] as const).flatMap(what => {
    const of = (drive: DriveSpeed) => drive[`${what}BytesPerSecond`]
    const middle = median(measured.map(of))
    return measured
      .filter(drive => of(drive) < slowShare * middle)
      .map(drive => ({ what, path: drive.path, percent: Math.round((of(drive) / middle) * 100) }))
  })
  if (slow.length === 0) return [`All ${measured.length} drives are about as fast as each other.`]
  return [
    ...slow.map(({ what, path, percent }) => `${path} ${what}s at ${percent} % of the median of the drives.`),
    slow.some(({ what }) => what === 'write')
      ? 'A slow drive slows every write of its set: look at its health, its cable and its controller.'
      : 'Reads that need it wait for it: look at its health, its cable and its controller.',
  ]
}

function verdictOfObjects({ size, concurrency, put, get }: NonNullable<SpeedtestResult['object']>): string[] {
  if (put.objectsPerSecond === 0) return ['Nothing was stored.']
  const tails = [
    ['uploads', put],
    ['downloads', get],
  ] as const
  return [
    `With ${concurrency} at a time, objects of ${formatBytes(size)} are stored as fast as a network of ${network(put.bytesPerSecond)} brings them, and read as fast as one of ${network(get.bytesPerSecond)} carries them. Signatures, checksums and the network come on top.`,
    ...tails
      .filter(([, { latencyMs }]) => latencyMs.p99 > longTail * latencyMs.p50)
      .map(
        ([what, { latencyMs }]) =>
          `One in a hundred ${what} takes ${Math.round(latencyMs.p99 / latencyMs.p50)} times as long as the median: other software uses the drives, or a drive is slow; the test of drives shows which.`,
      ),
  ]
}

/** The bandwidth in the unit in which networks are sold. */
function network(bytesPerSecond: number): string {
  const megabits = (bytesPerSecond * 8) / 1e6
  if (megabits < 1000) return `${megabits < 10 ? megabits.toFixed(1) : Math.round(megabits)} Mbit/s`
  return `${(megabits / 1000).toFixed(megabits < 100_000 ? 1 : 0)} Gbit/s`
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)]!
}
