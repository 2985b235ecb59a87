/**
 * Schedules of clients, power losses, crashes, drives that are away and pools that are added, over simulated drives: nothing that was
 * acknowledged is lost, and after a comparison each set has the shadows of exactly those blobs that records refer to. ROUNDS and SEED in
 * the environment repeat or extend a run: `SEED=$RANDOM ROUNDS=1000`. Without them the schedules are always the same.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Outcome } from 'svc/testing'
import t from 'tap'
import type { Totals } from './simulate.ts'

// More where there is time for them.
const rounds = Number(process.env.ROUNDS ?? (process.env.CI ? 100 : 20))
const firstSeed = Number(process.env.SEED ?? 1)

// Minutes on a machine that is busy with other tests; a file that runs into the limit ends the whole run.
t.setTimeout(1_100_000)

t.test(`nothing is lost and nothing leaks in ${rounds} schedules from seed ${firstSeed}`, async t => {
  const worker = new Worker(new URL('./simulate.ts', import.meta.url), { workerData: [firstSeed, rounds] })
  const [outcome] = (await once(worker, 'message')) as [Outcome<Totals>]
  if (outcome.error !== undefined) {
    t.fail(`SEED=${outcome.failedSeed} ROUNDS=1 repeats this: ${outcome.error}`)
    return
  }
  t.comment(JSON.stringify(outcome.totals))
  const { exact } = outcome.totals
  t.equal(exact, rounds, 'each schedule ends with a comparison')
  if (rounds < 20) return
  for (const [what, count] of Object.entries(outcome.totals)) t.ok(count > 0, `the schedules exercised: ${what}`)
})
