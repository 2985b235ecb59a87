import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand, parseDuration, parsePositive } from '../command.ts'
import { failure } from '../errors.ts'
import type { Connection } from '../s3/connection.ts'
import { connectionFailure } from '../s3/connection-failure.ts'
import type { HttpAnswer } from '../s3/messages.ts'

interface Options {
  readonly count: number
  readonly interval: number
}

interface Probe {
  readonly name: 's3' | 'admin' | 'health'
  readonly url: string
  readonly connection: Connection
  /** Why the answer is no good; undefined: it is good. */
  problemOf(answer: HttpAnswer): string | undefined
}

export default defineCommand<Options>({
  name: 'ping',
  summary: 'Measures how fast a server answers: S3, the Admin API, and whether it is ready.',
  description:
    'Each round asks the address of S3 (s3) and that of the Admin API (admin) whether the process answers, and S3 whether the server is ' +
    'ready (health), all without credentials. The first round opens the connections. The exit code is 1 where an answer is missing or bad.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '-c, --count <count>', summary: 'rounds (default 4)', parse: parsePositive, default: 4 },
    {
      flags: '-i, --interval <duration>',
      summary: 'between two rounds (default 1s)',
      parse: parseDuration,
      default: 1000,
    },
  ],
  examples: ['svcctl ping home', 'svcctl ping home --count 1 --json'],
  async run(context, [aliasName], { count, interval }) {
    const { output, io } = context
    const alias = await context.aliases.get(aliasName!)
    const s3 = context.openConnection(alias, alias.endpoint)
    const adminUrl = context.adminUrl(alias)
    const admin = context.openConnection(alias, adminUrl)
    const unready = (answer: HttpAnswer) => (answer.status === 200 ? undefined : reasonOf(answer))
    const probes: readonly Probe[] = [
      // A server of another vendor has no such path, and answers all the same.
      {
        name: 's3',
        url: `${alias.endpoint}${live}`,
        connection: s3,
        problemOf: answer => (answer.status < 500 ? undefined : unready(answer)),
      },
      { name: 'admin', url: `${adminUrl}${live}`, connection: admin, problemOf: unready },
      { name: 'health', url: `${alias.endpoint}${ready}`, connection: s3, problemOf: unready },
    ]
    const times = new Map<string, number[]>(probes.map(({ name }) => [name, []]))
    let failedCount = 0
    for (let round = 1; round <= count; round++) {
      if (round > 1) await sleep(interval, undefined, { signal: io.signal })
      for (const probe of probes) {
        const { name, url } = probe
        const { latencyMs, status, problem } = await measure(probe)
        if (problem === undefined) times.get(name)!.push(latencyMs)
        else failedCount++
        const shown = `${name.padEnd(nameWidth)} ${formatMs(latencyMs)}  ${problem ?? 'ok'}`
        output.result({ type: 'probe', round, name, url, ok: problem === undefined, status, latencyMs, problem }, shown)
      }
    }
    for (const { name } of probes) {
      const sorted = times.get(name)!.sort((a, b) => a - b)
      const [minMs = Number.NaN] = sorted
      const maxMs = sorted.at(-1) ?? Number.NaN
      const averageMs = sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length
      const answered = `${sorted.length} of ${count} good`
      const record = { type: 'summary', name, count, good: sorted.length, minMs, averageMs, maxMs }
      const shown = [minMs, averageMs, maxMs].map(ms => formatMs(ms).trimStart()).join(' / ')
      if (output.options.isJson || sorted.length === 0) output.result(record, `${name.padEnd(nameWidth)} ${answered}`)
      else output.result(record, `${name.padEnd(nameWidth)} ${answered}, min / average / max ${shown}`)
    }
    if (failedCount > 0)
      throw failure('ping_failed', `${failedCount} of ${count * probes.length} answers are missing or bad.`)
  },
})

const live = '/svc/health/live'
const ready = '/svc/health/ready'
const nameWidth = 7
const timeWidth = 8

const formatMs = (ms: number): string => `${ms.toFixed(1)} ms`.padStart(timeWidth)

async function measure({ name, url, connection, problemOf }: Probe) {
  const { pathname, host, origin } = new URL(url)
  const startedMs = performance.now()
  const elapsed = () => Math.round((performance.now() - startedMs) * 1000) / 1000
  try {
    const answer = await connection.send({ method: 'GET', path: pathname, headers: { host } })
    return { latencyMs: elapsed(), status: answer.status, problem: problemOf(answer) }
  } catch (error) {
    const { message } = connectionFailure(name, origin, error as NodeJS.ErrnoException)
    return { latencyMs: elapsed(), status: undefined, problem: message }
  }
}

/** The failed checks in the answer of a health probe. */
function reasonOf({ status, body }: HttpAnswer): string {
  try {
    const { status: state, checks = {} } = JSON.parse(body.toString()) as {
      readonly status?: string
      readonly checks?: Readonly<Record<string, string>>
    }
    const bad = Object.entries(checks).filter(([, result]) => result !== 'ok')
    const reasons = bad.map(([check, result]) => `${check}: ${result}`)
    return [`status ${status}`, state ?? '', ...reasons].filter(Boolean).join(', ')
  } catch {
    return `status ${status}` // Whoever answers here, it is not the server's health.
  }
}
