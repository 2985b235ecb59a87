/** Users, groups, policies and sessions with boto3 (policies-behaviour.py), and the same by hand with the AWS command line. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { findBoto3, requireProgram, run } from './clients.ts'
import { startServer } from './server.ts'

const script = join(import.meta.dirname, 'policies-behaviour.py')
const behaviours = [...readFileSync(script, 'utf8').matchAll(/^held\("(.*)"\)$/gm)].map(match => match[1]!)
const pythons = findBoto3()
const aws = requireProgram('aws')

const server = await startServer()
t.teardown(() => server.remove())

t.test('boto3', { skip: pythons.size === 0 && 'no Python with boto3 is installed' }, async t => {
  for (const [version, program] of pythons) {
    t.test(`boto3 ${version}`, async t => {
      const args = [script, server.endpoint, String(server.startup.console), version.replaceAll('.', '-')]
      const { code, stdout, stderr } = await run(program, args, server)
      for (const behaviour of behaviours) t.ok(stdout.includes(`held: ${behaviour}\n`), behaviour)
      t.equal(code, 0, 'ends well', { stderr })
    })
  }
})

t.test('the AWS command line', { skip: aws.skip }, async t => {
  const admin = createAdminClient(server)
  const folder = join(server.folder, 'policies')
  mkdirSync(folder)
  const ada = await admin.createUser('ada', { policyNames: ['readonly'] })
  const call = (environment: Readonly<Record<string, string>>, ...args: string[]) =>
    run(aws.path, ['--endpoint-url', server.endpoint, '--output', 'json', ...args], server, { folder, environment })
  const keys = { AWS_ACCESS_KEY_ID: ada.accessKeyId, AWS_SECRET_ACCESS_KEY: ada.secretAccessKey }
  const succeeds = async (environment: Readonly<Record<string, string>>, ...args: string[]) => {
    const { code, stdout, stderr } = await call(environment, ...args)
    t.equal(code, 0, args.join(' '), { stderr })
    return stdout === '' ? undefined : JSON.parse(stdout)
  }
  const at = ['--bucket', 'cli', '--key', 'reports/may.txt']
  writeFileSync(join(folder, 'may.txt'), 'figures of may')
  const statement = {
    Effect: 'Allow',
    Principal: { AWS: ['arn:aws:iam:::user/ada'] },
    Action: 's3:PutObject',
    Resource: 'arn:aws:s3:::cli/reports/*',
    Condition: { StringEquals: { 's3:x-amz-acl': 'bucket-owner-full-control' } },
  }
  const document = { Version: '2012-10-17', Statement: [statement] }
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(document))

  await succeeds({}, 's3api', 'create-bucket', '--bucket', 'cli')
  const put = ['s3api', 'put-object', ...at, '--body', 'may.txt']
  t.match((await call(keys, ...put)).stderr, /\(AccessDenied\) when calling the PutObject operation/)
  await succeeds({}, 's3api', 'put-bucket-policy', '--bucket', 'cli', '--policy', 'file://policy.json')
  const { Policy } = await succeeds({}, 's3api', 'get-bucket-policy', '--bucket', 'cli')
  t.strictSame(JSON.parse(Policy), document)
  t.match((await call(keys, ...put)).stderr, /AccessDenied/, 'without the header that the policy wants')
  await succeeds(keys, ...put, '--acl', 'bucket-owner-full-control')
  await succeeds(keys, 's3api', 'head-object', ...at)
  t.match((await call(keys, 's3api', 'delete-object', ...at)).stderr, /AccessDenied/)
  t.match((await call(keys, 's3api', 'get-bucket-policy', '--bucket', 'cli')).stderr, /AccessDenied/)
  t.match((await call({}, '--no-sign-request', 's3api', 'get-object', ...at, 'out')).stderr, /AccessDenied/)

  const session = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:ListBucket', Resource: '*' }] }
  const role = ['--role-arn', 'arn:aws:iam::000000000000:role/any', '--role-session-name', 'cli']
  const { Credentials } = await succeeds(keys, 'sts', 'assume-role', ...role, '--policy', JSON.stringify(session))
  const limited = {
    AWS_ACCESS_KEY_ID: Credentials.AccessKeyId,
    AWS_SECRET_ACCESS_KEY: Credentials.SecretAccessKey,
    AWS_SESSION_TOKEN: Credentials.SessionToken,
  }
  const { Contents } = await succeeds(limited, 's3api', 'list-objects-v2', '--bucket', 'cli')
  t.match(Contents, [{ Key: 'reports/may.txt', Size: 14 }])
  t.match((await call(limited, 's3api', 'get-object', ...at, 'out')).stderr, /AccessDenied/)
})
