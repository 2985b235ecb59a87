/**
 * Profiles the server under one kind of load and prints where its time goes, for the main thread and each worker:
 *
 *     node --conditions=svc-src test/perf/profile.ts LOAD [--workers N] [--drives N] [--seconds N] [--top N]
 *       [--keep DIR] [--drive DIR] [--config FILE]
 *
 * LOAD is one of loads.ts: get-small, put-small, the same with -sse-s3, -sse-kms or -sse-c, get-medium, put-medium, get-large, put-large, get-gib, list, web-hit, web-plain, web-disk.
 *
 * The profiler of V8 sees JavaScript and what it calls, not the threads of libuv: compare with the CPU of the process, which
 * is printed too, and measured without the profiler by `npm run bench`.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { warmUpMs } from './bench.ts'
import { type CpuProfile, type FunctionCost, groupCosts, summarizeProfile } from './cpu-profile.ts'
import { type LoadClient, startLoadClient } from './load-client.ts'
import { environmentOf, LOADS, type Load, prepareLoad } from './loads.ts'
import { cpuSeconds } from './machine.ts'
import { parseOptions } from './options.ts'
import { makeFolder } from './processes.ts'
import { type ServerTarget, startServer } from './targets.ts'

const SAMPLING_INTERVAL_MICROS = 250
const REPOSITORY = `${join(import.meta.dirname, '../..')}/`

interface ProfiledLoad {
  readonly requestCount: number
  readonly cpuMicros: number
  readonly fromMicros: number
  readonly toMicros: number
}

async function applyLoad(server: ServerTarget, client: LoadClient, load: Load, seconds: number): Promise<ProfiledLoad> {
  await prepareLoad(server, client, load)
  await client.run({ requestCountMax: 1_000_000, timeMsMax: warmUpMs })
  const pids = server.pids()
  const cpuBefore = cpuSeconds(pids)
  const fromMicros = monotonicMicros()
  const { requestCount } = await client.run({ requestCountMax: 10_000_000, timeMsMax: seconds * 1000 })
  return { requestCount, cpuMicros: (cpuSeconds(pids) - cpuBefore) * 1e6, fromMicros, toMicros: monotonicMicros() }
}

function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

function printProfile(file: string, profile: CpuProfile, load: ProfiledLoad, top: number): void {
  const { functions, busyMicros, idleMicros } = summarizeProfile(profile, load.fromMicros, load.toMicros)
  // CPU.<date>.<time>.<pid>.<thread>.<sequence>.cpuprofile; the main thread is 0.
  const thread = Number(file.split('.').at(-3))
  const perRequest = (micros: number): string => (micros / load.requestCount).toFixed(2).padStart(8)
  const share = (micros: number): string => `${((100 * micros) / busyMicros).toFixed(1)} %`.padStart(7)
  const name = thread === 0 ? 'main thread' : `worker thread ${thread}`
  print(`\n${name}: busy ${perRequest(busyMicros).trim()} µs/request, idle ${(idleMicros / 1e6).toFixed(2)} s`)
  print(`${'self µs'.padStart(8)} ${'share'.padStart(7)} ${'total µs'.padStart(8)}  function`)
  for (const cost of functions.slice(0, top)) {
    const line = `${perRequest(cost.selfMicros)} ${share(cost.selfMicros)} ${perRequest(cost.totalMicros)}`
    print(`${line}  ${cost.name} ${shorten(cost.place)}`)
  }
  print('\nself time by folder')
  for (const [folder, micros] of groupCosts(functions, folderOf).slice(0, 25)) {
    print(`${perRequest(micros)} ${share(micros)}  ${folder}`)
  }
}

/** A plugin, the kernel, a package, a module of Node.js, or what V8 puts in parentheses. */
function folderOf(cost: FunctionCost): string {
  if (cost.place === '') return cost.name.startsWith('(') ? cost.name : '(native)'
  const path = shorten(cost.place)
  const packageName = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  if (packageName !== undefined) return packageName
  if (path.startsWith('node:')) return path.replace(/:\d+$/, '')
  return path
    .split('/')
    .slice(0, path.startsWith('plugins/') ? 2 : 1)
    .join('/')
}

function shorten(place: string): string {
  return place.replace(REPOSITORY, '')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Options that mean the same here as for the benchmarks. */
function passOn(values: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      workers: { type: 'string', default: '0' },
      drives: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '5' },
      top: { type: 'string', default: '45' },
      keep: { type: 'string' },
      drive: { type: 'string' },
      config: { type: 'string' },
    },
  })
  const [name] = positionals
  if (LOADS[name] === undefined) throw new Error(`Name one of: ${Object.keys(LOADS).join(', ')}.`)
  const options = parseOptions(passOn({ drive: values.drive, config: values.config }), [])
  if (typeof options === 'string') throw new Error('unreachable: no such option was passed')
  const folder = makeFolder(options.drive, `svc-profile-${name}-`)
  const profiles = join(folder, 'profiles')
  mkdirSync(profiles)
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${SAMPLING_INTERVAL_MICROS}`]
  const client = startLoadClient()
  const workers = Number(values.workers)
  const environment = environmentOf(LOADS[name], folder)
  const drives = Array.from({ length: Number(values.drives) }, (_, index) => join(folder, `drive${index}`))
  const server = await startServer({ folder, drives, workers, configFile: options.config, environment, nodeOptions })
  const load = await applyLoad(server, client, LOADS[name], Number(values.seconds))
  await client.stop()
  await server.stop()

  const rate = Math.round(load.requestCount / ((load.toMicros - load.fromMicros) / 1e6))
  print(
    `${name}: ${load.requestCount} requests, ${rate}/s, process CPU ${(load.cpuMicros / load.requestCount).toFixed(1)} µs/request`,
  )
  print('(with the profiler on, and on a shared machine: use the shares)')
  const files = readdirSync(profiles)
    .filter(file => file.endsWith('.cpuprofile'))
    .sort()
  if (files.length === 0) throw new Error('The server wrote no profile: it must end by itself on SIGTERM.')
  for (const file of files) {
    if (values.keep !== undefined) {
      mkdirSync(values.keep, { recursive: true })
      copyFileSync(join(profiles, file), join(values.keep, file))
    }
    printProfile(file, JSON.parse(readFileSync(join(profiles, file), 'utf8')), load, Number(values.top))
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1) // not only the exit code: the load generator may still be connected
}
