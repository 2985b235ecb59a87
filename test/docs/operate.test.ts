/** What docs/operate tells operators to do, done: a certificate pair, TLS, and nginx in front. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { prepareNginx } from '../services/nginx.ts'
import { bytesOf, oddNames, requireProgram, run, sha256 } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { root } from './blocks.ts'

const openssl = requireProgram('openssl')
const nginx = requireProgram('nginx')
const folder = temporaryFolder(t, 'certs')
const certs = join(folder, 'certs')

function makePair(): string {
  const page = readFileSync(join(root, 'docs/operate/tls.md'), 'utf8')
  const command = /```sh\n(openssl req[\s\S]*?)```/.exec(page)![1]!
  execFileSync('bash', ['-euc', command], { cwd: certs, stdio: 'pipe' })
  return readFileSync(join(certs, 'public.crt'), 'utf8')
}

/** Over TLS the SDK sends unsigned payloads with a trailer: another way than over plain HTTP. */
async function works(t: Test, s3: S3Client, Bucket: string): Promise<void> {
  await s3.send(new CreateBucketCommand({ Bucket }))
  for (const Key of [...oddNames, 'two//slashes', 'a/../b', '%41']) {
    await s3.send(
      new PutObjectCommand({ Bucket, Key, Body: Readable.from([Key]), ContentLength: Buffer.byteLength(Key) }),
    )
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    t.equal(await Body!.transformToString(), Key, Key)
  }
  const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'two//', Delimiter: '/' }))
  t.equal(Contents?.length, 1)
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'two//slashes' }))
  const bytes = bytesOf(Bucket, 17 << 20)
  await new Upload({
    client: s3,
    params: { Bucket, Key: 'large', Body: Readable.from([bytes]) },
    partSize: 6 << 20,
  }).done()
  await s3.send(new PutObjectCommand({ Bucket, Key: 'whole', Body: bytes }))
  for (const Key of ['large', 'whole']) {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    t.equal(sha256(await Body!.transformToByteArray()), sha256(bytes), Key)
  }
}

t.test('TLS with the pair of the page', { skip: openssl.skip }, async t => {
  const ca = makePair()
  const server = await startServer({ environment: { SVC_CERTS_DIR: certs } })
  t.teardown(() => server.remove())
  const endpoint = server.endpoint.replace('http:', 'https:')
  const s3 = createClient(server, { endpoint, requestHandler: { httpsAgent: new Agent({ ca, keepAlive: true }) } })
  t.teardown(() => s3.destroy())
  await works(t, s3, 'over-tls')
  const aws = requireProgram('aws')
  if (!aws.skip) {
    const args = ['--endpoint-url', endpoint, '--ca-bundle', join(certs, 'public.crt'), 's3', 'ls']
    t.match((await run(aws.path, args, server)).stdout, /over-tls/)
  }
  await t.rejects(fetch(`${server.endpoint}/svc/health/live`), 'plain HTTP is not answered')
})

t.test('nginx with the configuration of the page', { skip: openssl.skip || nginx.skip }, async t => {
  const ca = makePair()
  const server = await startServer({ environment: { SVC_TRUSTED_PROXIES: '127.0.0.1' } })
  t.teardown(() => server.remove())
  const proxy = await prepareNginx(t, nginx.path)
  const sample = readFileSync(join(root, 'docs/operate/nginx.conf'), 'utf8')
    .replace('listen 443 ssl', `listen 127.0.0.1:${proxy.port} ssl`)
    .replace('/etc/nginx/s3.example.com.crt', join(certs, 'public.crt'))
    .replace('/etc/nginx/s3.example.com.key', join(certs, 'private.key'))
    .replace('127.0.0.1:9000', `127.0.0.1:${server.port}`)
  await proxy.start(sample)
  const endpoint = `https://127.0.0.1:${proxy.port}`
  const s3 = createClient(server, { endpoint, requestHandler: { httpsAgent: new Agent({ ca, keepAlive: true }) } })
  t.teardown(() => s3.destroy())
  await works(t, s3, 'through-nginx')
})
