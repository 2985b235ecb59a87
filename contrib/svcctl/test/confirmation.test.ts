/** Commands that ask before they remove something: who does not say yes gets exit code 1, and everything is as it was. */
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run } = createSession(temporaryFolder(t))
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
