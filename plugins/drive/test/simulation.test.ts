/**
 * Schedules of clients, checkpoints, compaction, crashes, power losses, full disks and failing disks over simulated hardware,
 * checked against the invariants of engine.ts. ROUNDS and SEED in the environment repeat or extend a run.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Outcome } from 'svc/testing'
import t from 'tap'
import type { Totals } from './simulate.ts'

// Thousands where there is time for them, hundreds on a laptop.
const rounds = Number(process.env.ROUNDS ?? (process.env.CI ? 2000 : 700))
const firstSeed = Number(process.env.SEED ?? randomInt(2 ** 30))

// Minutes on a machine that is busy with other tests; a file that runs into the limit ends the whole run.
t.setTimeout(1_100_000)

t.test(`invariants 1 to 7 hold in ${rounds} schedules from seed ${firstSeed}`, { timeout: 1_100_000 }, async t => {
  const worker = new Worker(new URL('./simulate.ts', import.meta.url), { workerData: [firstSeed, rounds] })
  const [outcome] = (await once(worker, 'message')) as [Outcome<Totals>]
  if (outcome.error !== undefined) {
    t.fail(`SEED=${outcome.failedSeed} ROUNDS=1 repeats this: ${outcome.error}`)
    return
  }
  t.comment(JSON.stringify(outcome.totals))
  if (rounds < 100) return
  for (const [what, count] of Object.entries(outcome.totals)) t.ok(count > 0, `the schedules exercised: ${what}`)
})
