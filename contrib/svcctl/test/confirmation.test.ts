/** Commands that ask before they remove something: who does not say yes gets exit code 1, and everything is as it was. */
import { PassThrough, Writable } from 'node:stream'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import type { Io } from '../io.ts'
import { requireConfirmed } from '../prompt.ts'
import { runSvcctl } from '../run.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const session = createSession(temporaryFolder(t))
const { run } = session
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})
await server.s3.send(new CreateBucketCommand({ Bucket: 'kept' }))
await server.s3.send(new PutObjectCommand({ Bucket: 'kept', Key: 'a', Body: 'a' }))

const commands = [
  ['admin', 'bucket', 'delete', 'home/kept', '--force'],
  ['rb', '--force', 'home/kept'],
  ['rm', '--recursive', 'home/kept/'],
]
const answers = { no: 'n\n', nothing: '\n', 'the end of the input': '' }

for (const command of commands) {
  for (const [name, input] of Object.entries(answers)) {
    t.test(`${command.join(' ')} answered with ${name}`, async t => {
      const { code, stderr, stdout } = await run(command, { input, isAnswered: true })
      t.equal(code, 1)
      t.match(stderr, /Nothing was changed\./)
      t.equal(stdout, '')
      t.match(await run(['cat', 'home/kept/a']), { code: 0, stdout: 'a' })
    })
  }
}

t.test('for scripts the refusal is an object', async t => {
  const { stderr } = await run([...commands[0]!, '--json'], { input: 'n\n', isAnswered: true })
  t.match(stderr, /"code":"not_confirmed"/)
})

/** A terminal that has said the input, of whose keys none is a signal by itself. */
function terminal(input: string) {
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} })
  let shown = ''
  const screen = new Writable({
    write(chunk, _, done) {
      shown += chunk
      done()
    },
  })
  const { environment, folder: cwd } = session
  const stderr = Object.assign(screen, { isTTY: true, columns: 80 })
  const io: Io = { stdin: keys, stdout: screen, stderr, env: environment, cwd, signal: new AbortController().signal }
  keys.write(input)
  return { io, keys, shown: () => shown }
}

t.test('Ctrl-C at a question ends the whole command, and what comes behind it is not asked', async t => {
  const { io, shown } = terminal('\u0003')
  t.equal(await runSvcctl(['rm', '-r', 'home/kept/a', 'home/kept/b'], io), 130)
  t.match(shown(), /home\/kept\/a/)
  t.notMatch(shown(), /home\/kept\/b/)
  t.match(await run(['cat', 'home/kept/a']), { code: 0, stdout: 'a' })
})

t.test(
  'where the input has ended before the question, as behind a typed document, nobody waits for an answer',
  async t => {
    const { io, keys } = terminal('a document\n')
    keys.end()
    for await (const _ of keys) {
      // To its end.
    }
    await t.rejects(requireConfirmed(io, false, 'Remove it?'), { message: /Remove it\? The input has ended.*--yes/ })
  },
)
