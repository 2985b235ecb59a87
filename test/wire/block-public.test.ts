/** The block of a bucket: set over the Admin API, seen by the AWS command line, in force on every thread. */
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { startServer } from './server.ts'

const aws = requireProgram('aws')

t.test('public buckets are closed at once, and opened again', { skip: aws.skip }, async t => {
  const server = await startServer({ environment: { SVC_WORKERS: '2' } })
  t.teardown(() => server.remove())
  const admin = createAdminClient(server)
  const ada = await admin.createUser('ada', { policyNames: [] })
  const call = async (environment: Readonly<Record<string, string>>, ...args: string[]) => {
    const options = ['--endpoint-url', server.endpoint, '--output', 'json']
    const { code, stdout, stderr } = await run(aws.path, [...options, ...args], server, { environment })
    t.equal(code, 0, args.join(' '), { stderr })
    return stdout
  }
  await call({}, 's3api', 'create-bucket', '--bucket', 'photos')
  await call({}, 's3api', 'put-object', '--bucket', 'photos', '--key', 'a')
  const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  await call({}, 's3api', 'put-bucket-policy', '--bucket', 'photos', '--policy', policy)
  const keys = { AWS_ACCESS_KEY_ID: ada.accessKeyId, AWS_SECRET_ACCESS_KEY: ada.secretAccessKey }
  const presigned = (await call(keys, 's3', 'presign', 's3://photos/a')).trim()

  // Each over a connection of its own, so that they come to both workers.
  const statuses = async (url: string) => {
    const requests = Array.from({ length: 20 }, () => fetch(url, { headers: { connection: 'close' } }))
    return [...new Set((await Promise.all(requests)).map(({ status }) => status))]
  }
  const expectStatus = async (status: number) => {
    t.same(await statuses(`${server.endpoint}/photos/a`), [status], 'anonymous')
    t.same(await statuses(presigned), [status], 'presigned by a user whom only the public policy allows it')
  }
  await expectStatus(200)
  await admin.call('PUT', '/buckets/photos/block-public', { enabled: true })
  await expectStatus(403)
  const flags = { BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true }
  const block = JSON.parse(await call({}, 's3api', 'get-public-access-block', '--bucket', 'photos'))
  t.same(block.PublicAccessBlockConfiguration, flags)
  await admin.call('PUT', '/buckets/photos/block-public', { enabled: false })
  await expectStatus(200)
})
