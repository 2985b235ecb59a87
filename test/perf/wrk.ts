/** Load by wrk, a client that costs little, on presigned URLs that a Lua script takes in turn. */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const WRK_PATHS = ['/usr/bin/wrk', '/usr/local/bin/wrk', '/opt/homebrew/bin/wrk']
const GRACE_MS = 30_000

export interface WrkResult {
  readonly requestCount: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface WrkOptions {
  readonly host: string
  readonly port: number
  readonly connectionCount: number
  readonly seconds: number
  /** Folder for the script and the list of targets. */
  readonly folder: string
  readonly targets: readonly string[]
  /** What `Host` says, where that is not the address. */
  readonly namedHost?: string
}

/** `done` prints one line of JSON; anything but 2xx and 3xx counts as an error. */
const SCRIPT = `
local requests = {}
local last = 0
function init(args)
  for line in io.lines(args[1]) do requests[#requests + 1] = wrk.format("GET", line) end
end
function request()
  last = last % #requests + 1
  return requests[last]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"errors":%d,"p50":%d,"p99":%d}\\n', summary.requests,
    summary.duration, e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
`

export function hasWrk(): boolean {
  return wrkPath() !== undefined
}

/** Runs wrk with one thread; rejects when a request fails. */
export async function runWrk(options: WrkOptions): Promise<WrkResult> {
  const { host, port, connectionCount, seconds, folder, targets, namedHost = `${host}:${port}` } = options
  const script = join(folder, 'rotate.lua')
  const list = join(folder, 'targets.txt')
  writeFileSync(script, SCRIPT)
  writeFileSync(list, targets.join('\n'))
  const args = [
    '-t1',
    `-c${connectionCount}`,
    `-d${seconds}s`,
    '-H',
    `Host: ${namedHost}`,
    '-s',
    script,
    `http://${host}:${port}/`,
    '--',
    list,
  ]
  const { stdout } = await promisify(execFile)(wrkPath()!, args, { timeout: seconds * 1000 + GRACE_MS })
  const line = stdout.split('\n').find(text => text.startsWith('{'))
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout.slice(0, 1000)}`)
  const result = JSON.parse(line)
  if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} requests by wrk failed.`)
  return {
    requestCount: result.requests,
    seconds: result.microseconds / 1e6,
    p50Ms: result.p50 / 1000,
    p99Ms: result.p99 / 1000,
  }
}

function wrkPath(): string | undefined {
  return WRK_PATHS.find(path => existsSync(path))
}
