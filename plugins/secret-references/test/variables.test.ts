/** Secrets of files: when a change of one counts. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { referenceTo } from '../api.ts'
import { createSecretReferences } from '../variables.ts'

t.test('a changed file counts after 5 s, also where the clock is set back', async t => {
  const file = join(t.testdir({}), 'secret')
  await writeFile(file, 'old\n')
  const fake = createFakeClock()
  let backMs = 0
  const clock = { ...fake, now: () => fake.now() - backMs }
  const env = { SVC_SECRET_EDGE_FILE: file }
  const { resolve } = createSecretReferences({ env, clock, log: { error() {} } as never })
  t.equal(resolve(referenceTo('edge')), 'old')
  await writeFile(file, 'new\n')
  t.equal(resolve(referenceTo('edge')), 'old', 'it is not read for every request')
  backMs = 3_600_000
  await fake.advance(5001)
  t.equal(resolve(referenceTo('edge')), 'new')
})
