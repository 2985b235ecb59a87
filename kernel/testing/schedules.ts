/**
 * Simulated schedules, one after the other, in a worker of a test, where no test runner watches each promise, or by hand:
 * `node --conditions=svc-src …/simulate.ts SEED ROUNDS`.
 */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Test } from 'tap'
import { createSeededRandom, type SeededRandom } from './fake-ports.ts'

export interface Outcome<Totals> {
  readonly totals: Totals
  /** Seed of the schedule that failed. */
  readonly failedSeed: number | undefined
  readonly error: string | undefined
}

/** Runs the number of schedules that the worker, or the command line, requests, each with its own seed, and reports the results. */
export async function runSchedules<Totals>(
  totals: Totals,
  run: (random: SeededRandom) => Promise<void>,
): Promise<void> {
  const [firstSeed, rounds] = isMainThread ? process.argv.slice(2).map(Number) : (workerData as [number, number])
  const outcome = await simulate(totals, run, firstSeed!, rounds!)
  if (!isMainThread) return parentPort!.postMessage(outcome)
  console.log(outcome)
  if (outcome.error !== undefined) process.exitCode = 1
}

async function simulate<Totals>(
  totals: Totals,
  run: (random: SeededRandom) => Promise<void>,
  firstSeed: number,
  rounds: number,
): Promise<Outcome<Totals>> {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    let stray: unknown
    // A client's failed assertion is a rejection without a handler.
    const onStray = (error: unknown) => {
      stray ??= error
    }
    process.on('unhandledRejection', onStray)
    try {
      await run(createSeededRandom(seed))
      if (stray !== undefined) throw stray
    } catch (error) {
      return { totals, failedSeed: seed, error: String(((stray ?? error) as Error).stack) }
    } finally {
      process.off('unhandledRejection', onStray)
    }
  }
  return { totals, failedSeed: undefined, error: undefined }
}

/**
 * How often a test of random histories, schedules or crashes repeats: few times on a laptop, so that `npm test` stays quick, more in CI,
 * and for hours with TEST_LONG. ROUNDS says another number.
 */
export function testRounds({ laptop, ci, long }: { laptop: number; ci: number; long: number }): number {
  const { CI, ROUNDS, TEST_LONG } = process.env
  return Number(ROUNDS ?? (TEST_LONG ? long : CI ? ci : laptop))
}

/** On a machine that is busy with other tests; a file that runs into its limit ends the whole run. */
export const schedulesMsMax = process.env.TEST_LONG ? 7_000_000 : 1_100_000
/** Below that, starting another worker takes longer than it saves. */
const roundsPerWorkerMin = 100

export interface ScheduleTestOptions {
  readonly script: URL
  readonly firstSeed: number
  readonly rounds: number
  /** With fewer rounds not everything that may happen does. */
  readonly allHappensFrom: number
}

/** Runs the schedules of a script that calls `runSchedules`, shared out among workers; resolves with the sums of their totals. */
export async function testSchedules<Totals extends object>(
  t: Test,
  { script, firstSeed, rounds, allHappensFrom }: ScheduleTestOptions,
): Promise<Totals> {
  const workerCount = Math.max(1, Math.min(availableParallelism(), Math.floor(rounds / roundsPerWorkerMin)))
  const totals: Record<string, number> = {}
  const share = async (worker: number) => {
    const from = firstSeed + Math.floor((rounds * worker) / workerCount)
    const to = firstSeed + Math.floor((rounds * (worker + 1)) / workerCount)
    const [outcome] = (await once(new Worker(script, { workerData: [from, to - from] }), 'message')) as [
      Outcome<Totals>,
    ]
    t.equal(outcome.error, undefined, `${to - from} schedules; SEED=${outcome.failedSeed} ROUNDS=1 repeats what fails`)
    for (const [what, count] of Object.entries(outcome.totals)) totals[what] = (totals[what] ?? 0) + count
  }
  await Promise.all(Array.from({ length: workerCount }, (_, worker) => share(worker)))
  t.comment(JSON.stringify(totals))
  if (rounds >= allHappensFrom) {
    for (const [what, count] of Object.entries(totals)) t.ok(count > 0, `the schedules exercised: ${what}`)
  }
  return totals as Totals
}

/** The bytes that belong to a number: they differ everywhere, so that a misplaced one shows. */
export function contentOf(id: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  const first = Math.min(size, 251)
  for (let i = 0; i < first; i++) bytes[i] = (id * 31 + i * 7) & 255
  // A period that is prime, so that no block and no shard begins like another.
  for (let at = first; at < size; at += first) bytes.copy(bytes, at, 0, Math.min(first, size - at))
  if (size >= 4) bytes.writeUInt32LE(id, size - 4)
  return bytes
}
