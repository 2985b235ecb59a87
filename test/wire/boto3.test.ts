/** boto3 with every Python that has it: the behaviour is asserted in boto3-behaviour.py, in boto3's own terms. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findBoto3, run } from './clients.ts'
import { startServer } from './server.ts'

const script = join(import.meta.dirname, 'boto3-behaviour.py')
const behaviours = [...readFileSync(script, 'utf8').matchAll(/^held\("(.*)"\)$/gm)].map(match => match[1]!)

const pythons = findBoto3()
const server = await startServer()
t.teardown(() => server.remove())

t.test('boto3', { skip: pythons.size === 0 && 'no Python with boto3 is installed' }, async t => {
  for (const [version, program] of pythons) {
    t.test(`boto3 ${version}`, async t => {
      const { code, stdout, stderr } = await run(
        program,
        [script, server.endpoint, version.replaceAll('.', '-')],
        server,
      )
      for (const behaviour of behaviours) t.ok(stdout.includes(`held: ${behaviour}\n`), behaviour)
      t.equal(code, 0, 'ends well', { stderr })
    })
  }
})
