/** Old clients, which sign with Version 2: boto3 (its side is in signature-v2-behaviour.py) and s3cmd, with the setting off and on. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAdminClient } from './admin.ts'
import { findBoto3, requireProgram, run } from './clients.ts'
import { region, accessKey as rootKey, secretKey as rootSecret, startServer } from './server.ts'

const script = join(import.meta.dirname, 'signature-v2-behaviour.py')
const behaviours = [...readFileSync(script, 'utf8').matchAll(/^held\("(.*)"\)$/gm)].map(match => match[1]!)

const server = await startServer()
t.teardown(() => server.remove())
const admin = createAdminClient(server)
await admin.putPolicy('everything', { Action: 's3:*', Resource: '*' })
// What says nothing of Version 2 must not count for it.
await admin.putPolicy('new-clients', {
  Action: 's3:*',
  Resource: '*',
  Condition: { StringEquals: { 's3:signatureversion': 'AWS4-HMAC-SHA256' } },
})
const user = await admin.createUser('old', { policyNames: ['everything'] })
const modern = await admin.createUser('new', { policyNames: ['new-clients'] })
const turn = (setting: 'on' | 'off') => admin.call('PATCH', '/config/api', { settings: { signature_v2: setting } })

const pythons = findBoto3()
const s3cmd = requireProgram('s3cmd')
const host = `127.0.0.1:${server.port}`

const withBoto3 = (program: string, setting: 'on' | 'off') =>
  run(program, [script, server.endpoint, setting], server, {
    environment: { AWS_ACCESS_KEY_ID: user.accessKeyId, AWS_SECRET_ACCESS_KEY: user.secretAccessKey },
  })

const withS3cmd = (credentials: typeof user, ...args: string[]) =>
  run(
    s3cmd.path,
    [
      '--config=/dev/null',
      '--signature-v2',
      `--access_key=${credentials.accessKeyId}`,
      `--secret_key=${credentials.secretAccessKey}`,
      `--host=${host}`,
      `--host-bucket=${host}`,
      `--region=${region}`,
      '--no-ssl',
      '--no-progress',
      ...args,
    ],
    server,
    { folder: server.folder },
  )

async function succeeds(t: Test, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await withS3cmd(user, ...args)
  t.equal(code, 0, args.join(' '), { stderr })
  return stdout
}

t.test('boto3', { skip: pythons.size === 0 && 'no Python with boto3 is installed' }, async t => {
  const [program] = pythons.values()
  const off = await withBoto3(program!, 'off')
  t.equal(off.code, 0, 'is refused while the setting is off', { stderr: off.stderr })
  await turn('on')
  const on = await withBoto3(program!, 'on')
  for (const behaviour of behaviours) t.ok(on.stdout.includes(`held: ${behaviour}\n`), behaviour)
  t.equal(on.code, 0, 'ends well', { stderr: on.stderr })
})

t.test('s3cmd', { skip: s3cmd.skip }, async t => {
  await turn('on')
  await succeeds(t, 'mb', 's3://drawer')
  writeFileSync(join(server.folder, 'note.txt'), 'a note')
  await succeeds(t, 'put', 'note.txt', 's3://drawer/a note+ü.txt')
  t.match(await succeeds(t, 'ls', 's3://drawer'), /s3:\/\/drawer\/a note\+ü\.txt/)
  await succeeds(t, 'get', 's3://drawer/a note+ü.txt', 'back.txt')
  t.equal(readFileSync(join(server.folder, 'back.txt'), 'utf8'), 'a note')
  await succeeds(t, 'cp', 's3://drawer/a note+ü.txt', 's3://drawer/copy')
  const link = (await succeeds(t, 'signurl', 's3://drawer/copy', '+60')).trim()
  t.match(link, 'AWSAccessKeyId=')
  const linked = await fetch(link)
  t.equal(`${linked.status} ${await linked.text()}`, '200 a note')
  t.equal((await fetch(link.replace('/copy', '/a%20note%2B%C3%BC.txt'))).status, 403)
  await succeeds(t, 'del', '--recursive', '--force', 's3://drawer')
  await succeeds(t, 'rb', 's3://drawer')

  const root = await withS3cmd({ accessKeyId: rootKey, secretAccessKey: rootSecret }, 'ls')
  t.not(root.code, 0)
  t.match(root.stderr, /Root may not use Signature Version 2|AccessDenied/)
  t.not((await withS3cmd(modern, 'mb', 's3://modern')).code, 0, 'a policy asks for Version 4')
  await turn('off')
  const refused = await fetch(link)
  t.match(`${refused.status} ${await refused.text()}`, /^400 .*api\.signature_v2=on/s)
  // The refusal has the words by which s3cmd knows that it has to sign with Version 4.
  await succeeds(t, 'ls')
})
