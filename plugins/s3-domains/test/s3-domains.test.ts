/** A bucket as an S3 endpoint on its own name: with the AWS SDK, and by hand. */

import { Agent } from 'node:http'
import { connect } from 'node:net'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { rootPassword, rootUser, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const raw = (port: number, lines: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`))
    let text = ''
    socket.on('data', data => {
      text += data
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })

t.test('the S3 API of one bucket on a domain', async t => {
  const http = { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', webAddress: '127.0.0.1:0' }
  const admin = await startAdmin({ config: { http } })
  t.teardown(() => admin.stop())
  const port = admin.kernel.services.http.listeners().find(({ name }) => name === 'web')!.port
  for (const Bucket of ['media', 'other']) await admin.s3.send(new CreateBucketCommand({ Bucket }))
  await admin.s3.send(new PutObjectCommand({ Bucket: 'other', Key: 'x', Body: 'of another bucket' }))
  const publish = async (more: object = {}) => {
    const body = { id: 'media', mode: 's3', aliases: ['media.example.test'], origin: { bucket: 'media' }, ...more }
    return admin.signed({ method: 'PUT', path: '/api/v1/distributions/media', body })
  }
  t.equal((await publish()).status, 201)
  // The name leads to the listener as DNS would.
  const agent = new Agent({
    lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) as never,
  })
  const s3 = new S3Client({
    endpoint: `http://media.example.test:${port}`,
    region: 'us-east-1',
    bucketEndpoint: true,
    credentials: { accessKeyId: rootUser, secretAccessKey: rootPassword },
    requestHandler: { httpAgent: agent },
  })
  t.teardown(() => s3.destroy())
  const Bucket = `http://media.example.test:${port}`

  await s3.send(new PutObjectCommand({ Bucket, Key: 'media/a b.txt', Body: 'hello' }))
  const read = await s3.send(new GetObjectCommand({ Bucket, Key: 'media/a b.txt' }))
  t.equal(await read.Body?.transformToString(), 'hello')
  const listed = await s3.send(new ListObjectsV2Command({ Bucket }))
  t.same(
    listed.Contents?.map(({ Key }) => Key),
    ['media/a b.txt'],
    'the whole path is the key',
  )
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: 'media/media/a%20b.txt' }))
  await t.rejects(s3.send(new CopyObjectCommand({ Bucket, Key: 'stolen', CopySource: 'other/x' })), {
    name: 'AccessDenied',
  })
  await t.rejects(s3.send(new GetObjectCommand({ Bucket, Key: 'x' })), { name: 'NoSuchKey' }, 'of this bucket alone')

  const get = (path: string, more: readonly string[] = []) =>
    raw(port, [`GET ${path} HTTP/1.1`, 'Host: media.example.test', ...more])
  t.match(await get('/copy'), /^HTTP\/1\.1 403 .*<Code>AccessDenied/s, 'anonymous, without a policy')
  const statement = {
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: 'arn:aws:s3:::media/*',
    Condition: { StringEquals: { 'svc:distribution': 'media', 'svc:host': 'media.example.test' } },
  }
  await admin.s3.send(
    new PutBucketPolicyCommand({
      Bucket: 'media',
      Policy: JSON.stringify({ Version: '2012-10-17', Statement: [statement] }),
    }),
  )
  t.match(await get('/copy'), /^HTTP\/1\.1 200 .*hello$/s, 'a policy that allows it through this domain')
  t.match(
    await raw(admin.s3Port, ['GET /media/copy HTTP/1.1', 'Host: 127.0.0.1']),
    /^HTTP\/1\.1 403 /,
    'and no other way',
  )
  t.match(await get('/svc/health/live'), /^HTTP\/1\.1 403 .*AccessDenied/s, 'nothing of the server')
  t.match(await get('/other/x'), /^HTTP\/1\.1 403 /)
  t.match(await get('/../other/x'), /^HTTP\/1\.1 403 /, 'dots are part of the key')
  t.notMatch(await get('/copy'), /x-cache/i)

  await publish({ defaultBehavior: { access: 'authenticated' } })
  t.match(await get('/copy'), /^HTTP\/1\.1 403 /, 'whatever the policy says')
  await publish({ defaultBehavior: { access: 'deny' } })
  await t.rejects(s3.send(new GetObjectCommand({ Bucket, Key: 'copy' })), { name: 'AccessDenied' })
  await publish({ restrictions: { rateLimit: { requestsPerSecond: 1 } } })
  await get('/copy')
  t.match(await get('/copy'), /^HTTP\/1\.1 503 .*Retry-After: 1.*<Code>SlowDown/is)
  await publish({ restrictions: { sourceIp: { deny: ['127.0.0.1'] } } })
  t.match(await get('/copy'), /^HTTP\/1\.1 403 .*<Code>AccessDenied/s)

  const records = (await admin.kernel.services.audit.recent(1000)).filter(({ tags }) => tags.distribution === 'media')
  t.ok(records.some(({ type, api, status }) => type === 's3' && api === 'PutObject' && status === 200))

  const refused: object[] = [
    { origin: { bucket: 'media', pathPrefix: 'a/' } },
    { origin: { bucket: 'media', versionPinning: true } },
    { defaultBehavior: { indexDocument: 'index.html' } },
    { behaviors: [{ pathPattern: { type: 'prefix', pattern: '/' } }] },
    { errorPages: [{ status: 404, path: '/404.html' }] },
    { redirects: [{ httpsOnly: true }] },
    { headers: { preset: 'strict' } },
  ]
  for (const more of refused)
    t.match((await publish(more)).json, { status: 400, code: 'invalid_distribution' }, JSON.stringify(more))
})
