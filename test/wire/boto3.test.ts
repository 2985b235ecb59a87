/** boto3 with every Python that has it: the behaviour is asserted in boto3-behaviour.py, in boto3's own terms. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPrograms, run } from './clients.ts'
import { startServer } from './server.ts'

const script = join(import.meta.dirname, 'boto3-behaviour.py')
const behaviours = [...readFileSync(script, 'utf8').matchAll(/^held\("(.*)"\)$/gm)].map(match => match[1]!)

/** By version, so that two names of one Python count once. */
const pythons = new Map<string, string>()
for (const program of findPrograms('python3')) {
  try {
    const version = execFileSync(program, ['-c', 'import boto3; print(boto3.__version__)'], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
    if (!pythons.has(version.trim())) pythons.set(version.trim(), program)
  } catch {
    // This Python has no boto3.
  }
}
if (pythons.size === 0 && process.env.CI) throw new Error('No Python with boto3 is installed, and CI is set')

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
