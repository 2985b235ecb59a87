/**
 * Schedules of clients, checkpoints, compaction, crashes, power losses, full disks and failing disks over simulated hardware,
 * checked against the invariants of `engine.ts`. ROUNDS and SEED repeat or extend a run. Seeds that have found a defect run always.
 */
import { randomInt } from 'node:crypto'
import { schedulesMsMax, testRounds, testSchedules } from 'svc/testing'
import t from 'tap'

// Thousands where there is time for them; otherwise as many as it takes for everything to happen.
const rounds = testRounds({ laptop: 20, ci: 100, long: 2000 })
const firstSeed = Number(process.env.SEED ?? randomInt(2 ** 30))
const script = new URL('./simulate.ts', import.meta.url)

t.setTimeout(schedulesMsMax)

/** Each with the defect that it found. */
const found = [
  // A segment that the journal had left for the next one took batches again after the first batch of that one failed.
  4758,
]
for (const seed of process.env.SEED === undefined ? found : []) {
  t.test(`the schedule from seed ${seed} holds`, t =>
    testSchedules(t, { script, firstSeed: seed, rounds: 1, allHappensFrom: 100 }),
  )
}

t.test(`invariants 1 to 7 hold in ${rounds} schedules from seed ${firstSeed}`, { timeout: schedulesMsMax }, t =>
  testSchedules(t, { script, firstSeed, rounds, allHappensFrom: 100 }),
)
