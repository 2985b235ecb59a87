/**
 * What all limits on requests together cost a whole request. A few microseconds of some fifty are less than what one round differs from
 * the next by on a machine that does other things, too: so there are many short rounds, that take turns on one server, and each with limits
 * is compared with those without just before and just after. Those without are also compared among themselves, which shows what is chance.
 */
import { type Bench, planFor, type Scenario, warmUpMs } from '../bench.ts'
import { threadCpuSeconds } from '../machine.ts'
import type { ServerTarget } from '../targets.ts'
import { CONNECTION_COUNT, fill, limit, RANGE } from './watched.ts'

const GOAL_MICROS = 2
const REQUEST_COUNT = 3000
/** After each change: the settings are read again, and code may be compiled again. */
const SETTLING_COUNT = 500
const TIME_MS_MAX = 60_000
const ROUND_COUNT = 150
const ROUND_COUNT_QUICK = 40

export const limits: Scenario = {
  name: 'limits',
  summary: 'GET of 4 KiB, 64 clients: CPU with all limits on requests, against without, in many short rounds',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return
    const server = await bench.start({ name: 'server', folder: `${bench.folder}/server`, environment: {} })
    await fill(bench, server)
    await bench.load.prepare(
      planFor(bench, server, { method: 'GET', targets: RANGE, connectionCount: CONNECTION_COUNT }),
    )
    await warmUp(bench)
    const end = await limit(server)
    await warmUp(bench)
    await end()
    await compare(bench, server)
  },
}

const warmUp = (bench: Bench) => bench.load.run({ requestCountMax: Number.MAX_SAFE_INTEGER, timeMsMax: warmUpMs })

async function compare(bench: Bench, server: ServerTarget): Promise<void> {
  const nobody: number[] = []
  const limited: number[] = []
  const more: number[] = []
  const chance: number[] = []
  let before = await round(bench, server, false)
  for (let count = bench.isQuick ? ROUND_COUNT_QUICK : ROUND_COUNT; count > 0; count--) {
    const between = await round(bench, server, true)
    const after = await round(bench, server, false)
    nobody.push(after)
    limited.push(between)
    more.push(between - (before + after) / 2)
    chance.push(after - before)
    before = after
  }
  const unit = 'µs/request'
  bench.record({ subject: 'no limits', name: 'CPU', unit, samples: nobody })
  bench.record({ subject: 'all limits', name: 'CPU', unit, samples: limited })
  const least = (of: readonly number[]) => Math.min(...of)
  bench.record({
    subject: 'all limits - no limits',
    name: 'CPU more, of neighbouring rounds',
    unit,
    samples: more,
    goal: { relation: '<=', value: GOAL_MICROS },
  })
  bench.record({
    subject: 'all limits - no limits',
    name: 'CPU more, of the least of all rounds',
    unit,
    samples: [least(limited) - least(nobody)],
    goal: { relation: '<=', value: GOAL_MICROS },
  })
  bench.record({ subject: 'no limits - no limits', name: 'CPU more, of neighbouring rounds', unit, samples: chance })
}

/** Microseconds of CPU of a request. */
async function round(bench: Bench, server: ServerTarget, isLimited: boolean): Promise<number> {
  const end = isLimited ? await limit(server) : undefined
  await bench.load.run({ requestCountMax: SETTLING_COUNT, timeMsMax: TIME_MS_MAX })
  const before = threadCpuSeconds(server.pids())
  const { requestCount } = await bench.load.run({ requestCountMax: REQUEST_COUNT, timeMsMax: TIME_MS_MAX })
  const seconds = threadCpuSeconds(server.pids()) - before
  await end?.()
  return (seconds * 1e6) / requestCount
}
