/**
 * Random schedules of clients, power losses, crashes, offline drives and added pools, over simulated drives: no acknowledged change is lost,
 * and after an orphan sweep each set has exactly the remote references that records need. ROUNDS and SEED in the environment repeat or
 * extend a run: `SEED=$RANDOM ROUNDS=1000`. Without them the schedules are always the same.
 */
import { randomInt } from 'node:crypto'
import { schedulesMsMax, testRounds, testSchedules } from 'svc/testing'
import t from 'tap'
import type { Totals } from './simulate.ts'

// More rounds if ROUNDS allows them.
const rounds = testRounds({ laptop: 20, ci: 40, long: 500 })
const firstSeed = Number(process.env.SEED ?? (process.env.TEST_LONG ? randomInt(2 ** 30) : 1))
const script = new URL('./simulate.ts', import.meta.url)

t.setTimeout(schedulesMsMax)

t.test(
  `nothing is lost and nothing leaks in ${rounds} schedules from seed ${firstSeed}`,
  { timeout: schedulesMsMax },
  async t => {
    const { exact } = await testSchedules<Totals>(t, { script, firstSeed, rounds, allHappensFrom: 20 })
    t.equal(exact, rounds, 'each schedule ends with an orphan sweep')
  },
)
