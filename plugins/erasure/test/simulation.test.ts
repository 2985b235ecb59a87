/**
 * Schedules of clients, power losses, crashes, failing, full, stale, replaced and damaged drives over simulated hardware, checked against the
 * invariants of erasure-set.ts. ROUNDS and SEED in the environment repeat or extend a run: `SEED=$RANDOM ROUNDS=1000`. Without them the
 * schedules are always the same, those among them that have found something once.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Outcome } from 'svc/testing'
import t from 'tap'
import type { Totals } from './simulate.ts'

// More where there is time for them.
const rounds = Number(process.env.ROUNDS ?? (process.env.CI ? 60 : 12))
const firstSeed = Number(process.env.SEED ?? 1)

// Minutes on a machine that is busy with other tests; a file that runs into the limit ends the whole run.
t.setTimeout(1_100_000)

t.test(`invariants 1 to 5 hold in ${rounds} schedules from seed ${firstSeed}`, { timeout: 1_100_000 }, async t => {
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
