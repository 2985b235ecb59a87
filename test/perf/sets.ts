/** Sets of drives to measure: all drives are folders of one disk, so the figures are of the work, not of several disks. */
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import type { ServerTarget } from './targets.ts'

/** Records are given to an empty drive before the server serves. */
const START_TIMEOUT_MS = 180_000
const METRICS_TIMEOUT_MS = 120_000
const AWAY = '.away'

export interface SetShape {
  readonly dataCount: number
  readonly parityCount: number
}

export function nameOf({ dataCount, parityCount }: SetShape): string {
  return `${dataCount}+${parityCount}`
}

/** Starts a server on a new set below `folder`. */
export function startSet(bench: Bench, folder: string, shape: SetShape): Promise<ServerTarget> {
  const count = shape.dataCount + shape.parityCount
  const drives = Array.from({ length: count }, (_, index) => join(folder, `d${index + 1}`))
  return bench.start({ folder, name: nameOf(shape), drives, environment: environmentOf(shape) })
}

/** Starts a server that was stopped once more, whatever has become of its drives meanwhile. */
export function restartSet(
  bench: Bench,
  folder: string,
  shape: SetShape,
  stopped: ServerTarget,
  name = nameOf(shape),
): Promise<ServerTarget> {
  const { drives, credentials } = stopped
  const environment = environmentOf(shape)
  return bench.start({ folder, name, drives, credentials, environment, isRestart: true, timeoutMs: START_TIMEOUT_MS })
}

function environmentOf({ parityCount }: SetShape): Readonly<Record<string, string>> {
  return { SVC_STORAGE_CLASS_STANDARD: `EC:${parityCount}`, SVC_PROMETHEUS_AUTH_TYPE: 'public' }
}

/** Of a server that is stopped: the next start does not find this drive. */
export function takeAway(drive: string): void {
  renameSync(drive, `${drive}${AWAY}`)
}

/** Of a server that is stopped: an empty folder in the place of the drive, as of a disk that was replaced. */
export function replaceDrive(drive: string): void {
  rmSync(drive, { recursive: true })
  mkdirSync(drive)
}

export interface Redundancy {
  /** What is kept in shards. */
  readonly records: number
  /** Of it, what lacks one. */
  readonly below: number
  /** Drives that are being given something. */
  readonly healingCount: number
  readonly failedCount: number
}

/** What the server says of its set; exact when asked. */
export async function readRedundancy(server: ServerTarget): Promise<Redundancy> {
  return redundancyOf(await readMetrics(server))
}

/** The metrics of a server that shows them to everybody. */
export async function readMetrics({ host, port }: ServerTarget): Promise<string> {
  const signal = AbortSignal.timeout(METRICS_TIMEOUT_MS)
  const response = await fetch(`http://${host}:${port}/svc/metrics/v1/node`, { signal })
  const text = await response.text()
  if (!response.ok) throw new Error(`The metrics were answered with ${response.status}: ${text.slice(0, 300)}`)
  return text
}

/** Throws where a figure is missing: nothing said is not nothing missing. */
export function redundancyOf(text: string): Redundancy {
  return {
    records: sumOf(text, 'svc_redundancy_records'),
    below: sumOf(text, 'svc_redundancy_below_target_records'),
    healingCount: sumOf(text, 'svc_drive_healing'),
    failedCount: sumOf(text, 'svc_heal_failed_total'),
  }
}

/** The figures of all labels together. */
export function sumOf(text: string, name: string): number {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))].map(match => Number(match[1]))
  if (values.length === 0) throw new Error(`The server has no figure ${name}.`)
  return values.reduce((sum, value) => sum + value, 0)
}

/** When the server logged this message first, in milliseconds since 1970; undefined where it has not. */
export function loggedAtMs({ logFile }: ServerTarget, message: string): number | undefined {
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .find(each => each.startsWith('{') && each.includes(message))
  return line === undefined ? undefined : Date.parse((JSON.parse(line) as { time: string }).time)
}
