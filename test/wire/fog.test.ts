/** fog-aws, with which GitLab stores everything: the behaviour is asserted in fog-behaviour.rb, in its own terms. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requireProgram, run } from './clients.ts'
import { startServer } from './server.ts'

const script = join(import.meta.dirname, 'fog-behaviour.rb')
const behaviours = [...readFileSync(script, 'utf8').matchAll(/^held\('(.*)'\)$/gm)].map(match => match[1]!)
const ruby = requireProgram('ruby')

/** Why there is nothing to run; an error instead when CI is set. */
function missing(): string | false {
  if (ruby.skip !== false) return ruby.skip
  try {
    execFileSync(ruby.path, ['-e', "require 'fog/aws'"], { stdio: 'pipe' })
    return false
  } catch (cause) {
    if (process.env.CI) throw new Error('fog-aws is not installed, and CI is set', { cause })
    return 'fog-aws is not installed'
  }
}
const skip = missing()

const server = await startServer()
t.teardown(() => server.remove())

t.test('fog-aws', { skip }, async t => {
  const { code, stdout, stderr } = await run(ruby.path, [script, server.endpoint], server)
  for (const behaviour of behaviours) t.ok(stdout.includes(`held: ${behaviour}\n`), behaviour)
  t.equal(code, 0, 'ends well', { stderr })
})
