/** Suites that many implementations must pass, and randomness that can be repeated. */
import { randomInt } from 'node:crypto'
import type { Test } from 'tap'
import { createSeededRandom, type SeededRandom } from './fake-ports.ts'

/** One promise of a contract, under a sentence that states it. `subject` is fresh for each case. */
export type ContractCase<Subject> = (t: Test, subject: Subject) => Promise<void> | void

/** Runs every case against subjects that `makeSubject` makes; it registers the clean-up with `t.teardown`. */
export type ContractSuite<Subject> = (t: Test, makeSubject: (t: Test) => Promise<Subject> | Subject) => Promise<void>

/**
 * Declares the suite of an extension point. The plugin that owns the point exports it; implementations of the point run it:
 *
 *     t.test('the memory backend keeps the contract', t => backendContract(t, t => createMemoryBackend()))
 */
export function contractSuite<Subject>(
  name: string,
  cases: Readonly<Record<string, ContractCase<Subject>>>,
): ContractSuite<Subject> {
  return async (t, makeSubject) => {
    if (Object.keys(cases).length === 0) throw new Error(`the contract suite "${name}" has no cases`)
    for (const [promise, run] of Object.entries(cases)) {
      await t.test(`${name}: ${promise}`, async t => {
        await run(t, await makeSubject(t))
      })
    }
  }
}

/**
 * Runs a randomized test with its own seed, or with `SEED` from the environment. When it throws or an assertion
 * fails, the seed is printed with the command that repeats it.
 */
export async function seeded(t: Test, run: (random: SeededRandom) => Promise<void> | void): Promise<void> {
  const random = createSeededRandom(Number(process.env.SEED ?? randomInt(2 ** 31)))
  const say = () => t.comment(`SEED=${random.seed} repeats this run`)
  try {
    await run(random)
  } catch (error) {
    say()
    throw error
  }
  if (!t.passing()) say()
}
