/**
 * The benchmarks: each figure is measured beside what it is compared with, in one run on one machine. Prints a table on
 * standard error and the figures as JSON on standard output or in a file. Nothing here is a test: goals are shown, not enforced.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench, Scenario } from './bench.ts'
import { startLoadClient } from './load-client.ts'
import { describeMachine } from './machine.ts'
import { type Options, parseOptions, USAGE } from './options.ts'
import { makeFolder, removeFolder } from './processes.ts'
import { createFigure, formatTable, type Report } from './report.ts'
import { codec } from './scenarios/codec.ts'
import { deleteSmall } from './scenarios/delete-small.ts'
import { distributions } from './scenarios/distributions.ts'
import { encryption } from './scenarios/encryption.ts'
import { events } from './scenarios/events.ts'
import { fullDrive } from './scenarios/full-drive.ts'
import { getLarge } from './scenarios/get-large.ts'
import { getSmall } from './scenarios/get-small.ts'
import { limits } from './scenarios/limits.ts'
import { list } from './scenarios/list.ts'
import { memory } from './scenarios/memory.ts'
import { peer } from './scenarios/peer.ts'
import { putLarge } from './scenarios/put-large.ts'
import { putSmall } from './scenarios/put-small.ts'
import { rebuild } from './scenarios/rebuild.ts'
import { rebuildLatency } from './scenarios/rebuild-latency.ts'
import { sets } from './scenarios/sets.ts'
import { soak } from './scenarios/soak.ts'
import { svcctlClient } from './scenarios/svcctl.ts'
import { tls } from './scenarios/tls.ts'
import { watched } from './scenarios/watched.ts'
import { peerTarget, type ServerTarget, startServer } from './targets.ts'

const SCENARIOS: readonly Scenario[] = [
  getSmall,
  putSmall,
  getLarge,
  distributions,
  putLarge,
  list,
  deleteSmall,
  svcctlClient,
  encryption,
  tls,
  events,
  watched,
  limits,
  soak,
  fullDrive,
  memory,
  codec,
  sets,
  rebuild,
  rebuildLatency,
  peer,
]
const BASELINE_CREDENTIALS = { accessKey: 'bench-root', secretKey: 'not-verified-by-a-baseline' }

async function runAll(options: Options): Promise<Report> {
  const report: Report = {
    startedAt: new Date().toISOString(),
    commit: currentCommit(),
    machine: describeMachine(),
    options,
    figures: [],
    failures: [],
  }
  const chosen = SCENARIOS.filter(({ name, needsPeer = false }) =>
    options.only.length === 0 ? needsPeer === (options.peer !== undefined) : options.only.includes(name),
  )
  for (const workers of options.workers) {
    for (const scenario of chosen) {
      try {
        await runOne(options, scenario, workers, report)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        say(scenario, workers, `FAILED: ${message}`)
        report.failures.push({ scenario: scenario.name, workers, error: message })
      }
    }
  }
  return report
}

/** Each scenario has a drive, a server and a load generator of its own: none inherits what another left behind. */
async function runOne(options: Options, scenario: Scenario, workers: number, report: Report): Promise<void> {
  const folder = makeFolder(options.drive, `svc-bench-${scenario.name}-`)
  const load = startLoadClient()
  const started: ServerTarget[] = []
  const start: Bench['start'] = async wanted => {
    const environment = { ...scenario.environment, ...wanted.environment }
    const one = await startServer({ ...wanted, workers, configFile: options.config, environment })
    started.push(one)
    return one
  }
  try {
    const isNeeded = !options.isBaselineOnly && scenario.startsOwnServers !== true
    const server = isNeeded ? await start({ folder }) : undefined
    const bench: Bench = {
      isQuick: options.isQuick,
      keyCount: options.keys,
      largeBytes: options.bytes,
      minutes: options.minutes,
      isBaselineOnly: options.isBaselineOnly,
      workers,
      folder,
      load,
      server,
      peer: options.peer === undefined ? undefined : peerTarget(options.peer),
      start,
      credentials: server?.credentials ?? BASELINE_CREDENTIALS,
      signedHost: server === undefined ? '127.0.0.1:9000' : `${server.host}:${server.port}`,
      record: input => report.figures.push(createFigure(scenario.name, workers, input)),
      say: progress => say(scenario, workers, progress),
    }
    bench.say(scenario.summary)
    await scenario.run(bench)
  } finally {
    await load.stop()
    for (const server of started) await server.stop()
    removeFolder(join(folder))
  }
}

function say(scenario: Scenario, workers: number, progress: string): void {
  process.stderr.write(`[${scenario.name} w=${workers}] ${progress}\n`)
}

function currentCommit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown' // an installed package has no history
  }
}

async function main(): Promise<void> {
  let options: Options | 'help' | 'list'
  try {
    options = parseOptions(
      process.argv.slice(2),
      SCENARIOS.map(({ name }) => name),
    )
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`)
    process.exitCode = 2
    return
  }
  if (options === 'help') return void process.stdout.write(USAGE)
  if (options === 'list') {
    for (const { name, summary } of SCENARIOS) process.stdout.write(`${name.padEnd(15)} ${summary}\n`)
    return
  }
  const report = await runAll(options)
  process.stderr.write(`\n${formatTable(report.figures)}\n`)
  for (const { scenario, workers, error } of report.failures)
    process.stderr.write(`FAILED ${scenario} (${workers} workers): ${error}\n`)
  const json = `${JSON.stringify(report, undefined, 2)}\n`
  if (options.json === undefined) process.stdout.write(json)
  else writeFileSync(options.json, json)
  if (report.failures.length > 0) process.exitCode = 1
}

await main()
