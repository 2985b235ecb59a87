/** The examples of docs/develop/plugin.md run as they stand there. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCli } from '../cli.ts'

const page = readFileSync(new URL('../../docs/develop/plugin.md', import.meta.url), 'utf8')

t.test('the example plugins pass their test and add their command', async t => {
  const blocks = [...page.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)].map(([, name, code]) => [name, code])
  t.same(
    blocks.map(([name]) => name),
    ['greeting.ts', 'loud.ts', 'greeting.test.ts'],
  )
  const dir = t.testdir(Object.fromEntries(blocks))
  const test = spawnSync(process.execPath, ['--conditions=svc-src', join(dir, 'greeting.test.ts')], {
    encoding: 'utf8',
  })
  t.equal(test.status, 0, test.stdout + test.stderr)
  t.match(test.stdout, /1\.\.3\nok 1 - a greeting is decorated/)
  let stdout = ''
  const stream = { write: (text: string) => (stdout += text) } as unknown as NodeJS.WritableStream
  const env = { SVC_PLUGINS: `${dir}/loud.ts,${dir}/greeting.ts`, SVC_GREETING_WORD: 'Hi' }
  t.equal(await runCli(['greet', 'Ada'], { stdout: stream, stderr: stream, env }), 0)
  t.equal(stdout, 'Hi Ada!\n')
})
