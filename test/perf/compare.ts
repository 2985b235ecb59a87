/**
 * Compares source trees under one kind of load, in short rounds that take turns, by the CPU that each request costs:
 *
 *     node --conditions=svc-src test/perf/compare.ts LOAD[,LOAD…] TREE [TREE…] [--rounds N] [--seconds N] [--workers N]
 *
 * LOAD is one of those of profile.ts; several take turns, too, so that one tree shows what one costs more than another. A tree may be
 * followed by options for Node.js, by a number of workers and by one of drives: `/tmp/copy,--max-semi-space-size=64`, `.,workers=1`,
 * `.,drives=4`. A copy is made with `git archive HEAD | tar -x -C /tmp/copy` and a link to `node_modules`.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { warmUp, warmUpMs } from './bench.ts'
import { type LoadClient, startLoadClient } from './load-client.ts'
import { environmentOf, LOADS, type Load, prepareLoad, uploadInParts } from './loads.ts'
import { cpuSeconds } from './machine.ts'
import { parseOptions } from './options.ts'
import { makeFolder } from './processes.ts'
import { median } from './statistics.ts'
import { type ServerTarget, startServer } from './targets.ts'

interface Contestant {
  readonly name: string
  readonly loadName: string
  readonly load: Load
  readonly server: ServerTarget
  readonly client: LoadClient
  readonly cpuMicros: number[]
  readonly rates: number[]
}

async function measure(
  { load, server, client, cpuMicros, rates }: Contestant,
  round: number,
  seconds: number,
): Promise<void> {
  const before = cpuSeconds(server.pids())
  const timeMsMax = round === warmUp ? warmUpMs : seconds * 1000
  const result =
    load.partCount === undefined
      ? await client.run({ requestCountMax: 10_000_000, timeMsMax })
      : await upload(server, client, load)
  if (round === warmUp) return
  cpuMicros.push(((cpuSeconds(server.pids()) - before) * 1e6) / result.requestCount)
  rates.push(result.requestCount / result.seconds)
}

/** Whatever the time of a round is, it is one upload. */
async function upload(server: ServerTarget, client: LoadClient, load: Load) {
  const began = performance.now()
  await uploadInParts(server, client, load)
  return { requestCount: 1, seconds: (performance.now() - began) / 1000 }
}

/** `first`: who had the same load first; the ratio within each round is what other work on the machine changes least. */
function print({ name, cpuMicros, rates }: Contestant, first: Contestant): void {
  const sorted = cpuMicros.toSorted((a, b) => a - b)
  const [least, quarter] = [sorted[0], sorted[sorted.length >> 2]].map(value => value.toFixed(1))
  const figures = `CPU µs/request: median ${median(cpuMicros).toFixed(1)}, quartile ${quarter}, least ${least}`
  const ratio = (mine: readonly number[], others: readonly number[]) =>
    median(mine.map((value, round) => value / others[round])).toFixed(2)
  const ratios = `CPU × ${ratio(cpuMicros, first.cpuMicros)}, rate × ${ratio(rates, first.rates)} of the first`
  process.stdout.write(`${name}\n  ${figures}; ${median(rates).toPrecision(3)} requests/s; ${ratios}\n`)
}

/** The number of `name=number`, undefined where there is none. */
function numberOf(settings: readonly string[], name: string): number | undefined {
  const value = settings.find(setting => setting.startsWith(`${name}=`))
  return value === undefined ? undefined : Number(value.slice(name.length + 1))
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '8' },
      seconds: { type: 'string', default: '1' },
      workers: { type: 'string', default: '0' },
    },
  })
  const [loadName, ...trees] = positionals
  const loads = (loadName ?? '').split(',').map(name => ({ loadName: name, load: LOADS[name] }))
  if (loads.some(({ load }) => load === undefined) || trees.length === 0)
    throw new Error(`Name a load (${Object.keys(LOADS).join(', ')}) and trees.`)
  const options = parseOptions([], [])
  if (typeof options === 'string') throw new Error('unreachable: no such option was passed')
  const contestants: Contestant[] = []
  for (const [name, { loadName, load }] of trees.flatMap(tree => loads.map(one => [tree, one] as const))) {
    const [tree, ...settings] = name.split(',')
    const nodeOptions = settings.filter(setting => setting.startsWith('-'))
    const folder = makeFolder(options.drive, 'svc-compare-')
    const workers = numberOf(settings, 'workers') ?? Number(values.workers)
    const drives = Array.from({ length: numberOf(settings, 'drives') ?? 1 }, (_, index) =>
      join(folder, `d${index + 1}`),
    )
    const environment = environmentOf(load, folder)
    const server = await startServer({ folder, drives, workers, tree: resolve(tree), environment, nodeOptions })
    const client = startLoadClient()
    await prepareLoad(server, client, load)
    contestants.push({
      name: loads.length === 1 ? name : `${name} ${loadName}`,
      loadName,
      load,
      server,
      client,
      cpuMicros: [],
      rates: [],
    })
  }
  for (let round = warmUp; round < Number(values.rounds); round++) {
    for (const contestant of contestants) await measure(contestant, round, Number(values.seconds))
  }
  for (const contestant of contestants) {
    print(contestant, contestants.find(({ loadName }) => loadName === contestant.loadName)!)
    await contestant.client.stop()
    await contestant.server.stop()
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1) // not only the exit code: load generators may still be connected
}
