/** The command line of the benchmarks. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseSize } from 'svc/kernel'
import { isMemoryFileSystem } from './machine.ts'

export interface Options {
  /** Names of scenarios; empty = all. */
  readonly only: readonly string[]
  readonly isQuick: boolean
  /** Keys of the large bucket of `list`, small objects of the rebuilds; undefined = their own default. */
  readonly keys: number | undefined
  /** Of all large objects of the rebuilds; undefined = their own default. */
  readonly bytes: number | undefined
  /** How long the soak takes; undefined = its own default. */
  readonly minutes: number | undefined
  /** Values of SVC_WORKERS to measure, one server each. */
  readonly workers: readonly number[]
  /** Folder on the drive to measure. */
  readonly drive: string
  /** Configuration file of the server to measure. */
  readonly config: string | undefined
  /** File for the figures as JSON; undefined = standard output. */
  readonly json: string | undefined
  /** A server of somebody else to measure beside this one. */
  readonly peer: PeerOptions | undefined
  /** Measure what the server is compared with, without the server. */
  readonly isBaselineOnly: boolean
}

export interface PeerOptions {
  readonly host: string
  readonly port: number
  /** Processes whose CPU counts, with their children; empty where they run elsewhere. */
  readonly pids: readonly number[]
}

export const USAGE = `Usage: npm run bench -- [options]
  --only a,b       scenarios to run (default: all)
  --quick          short rounds and small sizes
  --keys N         keys of the large bucket of list, small objects of rebuild and rebuild-latency
  --bytes SIZE     of all large objects of rebuild and rebuild-latency, such as 20GiB
  --minutes N      how long soak takes
  --workers 0,1,2  values of SVC_WORKERS to measure (default: 0)
  --drive DIR      folder on the drive to measure (default: a temporary folder on disk)
  --config FILE    configuration file for the server
  --json FILE      write the figures there instead of to standard output
  --baseline       measure only what the server is compared with
  --peer URL       measure this S3 server (plain HTTP) beside ours, with the same client; its keys are in AWS_ACCESS_KEY_ID and
                   AWS_SECRET_ACCESS_KEY. Needs rights to create buckets, and deletes those again
  --peer-pid N     process of the peer on this machine, whose CPU is compared too (several: 7,8)
  --list           print the scenarios
`

/** Throws an Error with a sentence for the user. */
export function parseOptions(args: readonly string[], scenarios: readonly string[]): Options | 'help' | 'list' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      keys: { type: 'string' },
      bytes: { type: 'string' },
      minutes: { type: 'string' },
      workers: { type: 'string', default: '0' },
      drive: { type: 'string' },
      config: { type: 'string' },
      json: { type: 'string' },
      peer: { type: 'string' },
      'peer-pid': { type: 'string' },
      baseline: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  if (values.list) return 'list'
  const only = (values.only ?? '').split(',').filter(Boolean)
  for (const name of only) {
    if (!scenarios.includes(name)) throw new Error(`There is no scenario '${name}': ${scenarios.join(', ')}.`)
  }
  const workers = values.workers.split(',').map(Number)
  if (workers.some(count => !Number.isInteger(count) || count < 0 || count > 64)) {
    throw new Error('--workers takes whole numbers from 0 to 64, with commas between them.')
  }
  const keys = values.keys === undefined ? undefined : Number(values.keys)
  if (keys !== undefined && !(Number.isSafeInteger(keys) && keys > 0)) throw new Error('--keys takes a whole number.')
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  if (minutes !== undefined && !(Number.isSafeInteger(minutes) && minutes > 0))
    throw new Error('--minutes takes a whole number.')
  const bytes = values.bytes === undefined ? undefined : sizeOf(values.bytes)
  const drive = values.drive === undefined ? diskFolder() : resolve(values.drive)
  const [config, json] = [values.config, values.json].map(file => (file === undefined ? undefined : resolve(file)))
  const peer = peerOf(values.peer, values['peer-pid'])
  return {
    only,
    isQuick: values.quick,
    keys,
    bytes,
    minutes,
    workers,
    drive,
    config,
    json,
    peer,
    isBaselineOnly: values.baseline,
  }
}

function peerOf(url: string | undefined, pidList: string | undefined): PeerOptions | undefined {
  const pids = (pidList ?? '').split(',').filter(Boolean).map(Number)
  if (pids.some(pid => !Number.isSafeInteger(pid) || pid <= 0)) throw new Error('--peer-pid takes ids of processes.')
  if (url === undefined) {
    if (pids.length > 0) throw new Error('--peer-pid goes with --peer.')
    return undefined
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== 'http:' || parsed.pathname !== '/' || parsed.search !== '') {
    throw new Error('--peer takes an address such as http://127.0.0.1:9000: TLS and paths are not measured.')
  }
  return { host: parsed.hostname, port: Number(parsed.port || 80), pids }
}

function sizeOf(text: string): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new Error(`--bytes ${(error as Error).message}.`)
  }
}

/** A temporary folder that is on a disk: what tmpfs makes durable says nothing. */
function diskFolder(): string {
  const candidates = [tmpdir(), '/var/tmp'].filter(folder => existsSync(folder))
  const folder = candidates.find(candidate => !isMemoryFileSystem(candidate))
  if (folder === undefined) throw new Error('No temporary folder on a disk was found: give one with --drive.')
  return folder
}
