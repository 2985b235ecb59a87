/** What docs/operate tells operators to do, done: a certificate pair, TLS, and nginx in front. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
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

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(done => probe.listen(0, '127.0.0.1', done))
  const { port } = probe.address() as { port: number }
  await new Promise(done => probe.close(done))
  return port
}

async function answers(port: number): Promise<boolean> {
  return new Promise(done => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => socket.destroy(done(true) as undefined))
    socket.once('error', () => done(false))
  })
}

t.test('nginx with the configuration of the page', { skip: openssl.skip || nginx.skip }, async t => {
  const ca = makePair()
  const server = await startServer({ environment: { SVC_TRUSTED_PROXIES: '127.0.0.1' } })
  t.teardown(() => server.remove())
  const port = await freePort()
  const work = join(folder, 'nginx')
  mkdirSync(work)
  const sample = readFileSync(join(root, 'docs/operate/nginx.conf'), 'utf8')
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/nginx/s3.example.com.crt', join(certs, 'public.crt'))
    .replace('/etc/nginx/s3.example.com.key', join(certs, 'private.key'))
    .replace('127.0.0.1:9000', `127.0.0.1:${server.port}`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${work}/${name};`,
  )
  writeFileSync(
    join(work, 'nginx.conf'),
    `daemon off; pid ${work}/pid; ${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; events {}\n` +
      `http { access_log off; ${temporary.join(' ')}\n${sample}\n}\n`,
  )
  const child = spawn(nginx.path, ['-c', join(work, 'nginx.conf'), '-e', join(work, 'error.log')], { stdio: 'ignore' })
  const ended = new Promise(done => child.once('close', done))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (let attempt = 0; attempt < 1800 && !(await answers(port)); attempt++) await sleep(50)

  const endpoint = `https://127.0.0.1:${port}`
  const s3 = createClient(server, { endpoint, requestHandler: { httpsAgent: new Agent({ ca, keepAlive: true }) } })
  t.teardown(() => s3.destroy())
  await works(t, s3, 'through-nginx')
})
