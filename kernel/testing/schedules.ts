/**
 * Simulated schedules, one after the other, in a worker of a test, where no test runner watches each promise, or by hand:
 * `node --conditions=svc-src …/simulate.ts SEED ROUNDS`.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { createSeededRandom, type SeededRandom } from './fake-ports.ts'

export interface Outcome<Totals> {
  readonly totals: Totals
  /** Of the schedule in which something was wrong. */
  readonly failedSeed: number | undefined
  readonly error: string | undefined
}

/** Runs as many schedules as the worker, or the command line, was told to, each of a seed of its own, and says what came of it. */
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
    // A client's failed assertion is a rejection that nobody awaits.
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
