/** The real server: configuration, lines of several kinds of requests, keys of the objects, and what was queued before a stop. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type BucketLoggingStatus,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetBucketLoggingCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketLoggingCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { outcome, startServer, type TestServer } from 'svc/plugins/s3/testing'
import t, { type Test } from 'tap'
import { logLine } from '../log-line.ts'

const hour = 3_600_000

async function startLogging(t: Test, { intervalMs = 100, drive }: { intervalMs?: number; drive?: string } = {}) {
  const server = await startServer({
    config: { 'bucket-logging': { intervalMs } },
    ...(drive === undefined ? undefined : { drive }),
  })
  t.teardown(() => server.stop())
  return server
}

const put = ({ client }: TestServer, Bucket: string, LoggingEnabled?: BucketLoggingStatus['LoggingEnabled']) =>
  outcome(client.send(new PutBucketLoggingCommand({ Bucket, BucketLoggingStatus: { LoggingEnabled } })))

const makeBuckets = async ({ client }: TestServer, ...names: string[]) => {
  for (const Bucket of names) await client.send(new CreateBucketCommand({ Bucket }))
}

interface LogObject {
  readonly key: string
  readonly lines: readonly string[]
}

/** Waits until the logs below a prefix have so many lines. */
async function logsOf({ client }: TestServer, Bucket: string, Prefix: string, count: number): Promise<LogObject[]> {
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }))
    const found: LogObject[] = []
    for (const { Key } of Contents) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
      found.push({ key: Key!, lines: (await Body!.transformToString()).trimEnd().split('\n') })
    }
    if (found.flatMap(({ lines }) => lines).length >= count) return found
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** Without absent fields. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

/** Fields as log analyzers take them apart: brackets and quotes hold spaces. */
const fieldsOf = (line: string): string[] => line.match(/\[[^\]]*\]|"[^"]*"|\S+/g) ?? []

t.test('a stored setting is read back; wrong targets and documents are refused', async t => {
  const server = await startLogging(t, { intervalMs: hour })
  await makeBuckets(server, 'photos', 'logs')
  const read = async () => (await server.client.send(new GetBucketLoggingCommand({ Bucket: 'photos' }))).LoggingEnabled
  t.equal(await read(), undefined)
  for (const TargetObjectKeyFormat of [
    undefined,
    { SimplePrefix: {} },
    { PartitionedPrefix: { PartitionDateSource: 'EventTime' as const } },
    { PartitionedPrefix: { PartitionDateSource: 'DeliveryTime' as const } },
  ]) {
    const wanted = { TargetBucket: 'logs', TargetPrefix: 'a/', TargetObjectKeyFormat }
    t.equal(await put(server, 'photos', wanted), 'ok')
    t.same(plain(await read()), plain(wanted))
  }
  t.equal(await put(server, 'photos', { TargetBucket: 'none', TargetPrefix: '' }), '400 InvalidTargetBucketForLogging')
  t.equal(
    await put(server, 'photos', {
      TargetBucket: 'logs',
      TargetPrefix: '',
      TargetGrants: [{ Grantee: { Type: 'CanonicalUser', ID: 'x' }, Permission: 'READ' }],
    }),
    '400 AccessControlListNotSupported',
  )
  t.equal(await put(server, 'photos', { TargetBucket: 'logs', TargetPrefix: undefined }), '400 MalformedXML')
  t.equal(await put(server, 'missing', { TargetBucket: 'logs', TargetPrefix: '' }), '404 NoSuchBucket')
  t.equal((await read())?.TargetPrefix, 'a/', 'what was refused changes nothing')
  t.equal(await put(server, 'photos'), 'ok')
  t.equal(await read(), undefined)
})

t.test('the next bucket of the name of a target gets no line until somebody says so again', async t => {
  const server = await startLogging(t)
  await makeBuckets(server, 'photos', 'logs', 'other-logs')
  const wanted = { TargetBucket: 'logs', TargetPrefix: 'photos/' }
  t.equal(await put(server, 'photos', wanted), 'ok')
  t.equal(await put(server, 'other-logs', { TargetBucket: 'other-logs', TargetPrefix: 'own/' }), 'ok')
  await logsOf(server, 'other-logs', 'own/', 1)
  // Its lines may still come.
  const isGone = async () => (await outcome(server.client.send(new DeleteBucketCommand({ Bucket: 'logs' })))) === 'ok'
  while (!(await isGone())) {
    const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: 'logs' }))
    for (const { Key } of Contents) await server.client.send(new DeleteObjectCommand({ Bucket: 'logs', Key }))
  }
  await makeBuckets(server, 'logs')
  const ask = (Bucket: string) => server.client.send(new ListObjectsV2Command({ Bucket }))
  await ask('photos')
  // Lines of the same time that are meant: when they are there, the others would be, too.
  const before = (await logsOf(server, 'other-logs', 'own/', 1)).flatMap(({ lines }) => lines).length
  await ask('other-logs')
  await logsOf(server, 'other-logs', 'own/', before + 2)
  t.same(plain((await ask('logs')).Contents ?? []), [])
  t.equal(await put(server, 'photos', wanted), 'ok')
  await ask('photos')
  t.ok((await logsOf(server, 'logs', 'photos/', 1)).length > 0)
})

t.test('requests of several kinds become lines, and deliveries themselves do not', async t => {
  const server = await startLogging(t)
  const { client } = server
  await makeBuckets(server, 'photos', 'other', 'logs')
  t.equal(await put(server, 'photos', { TargetBucket: 'logs', TargetPrefix: 'p/' }), 'ok')
  await client.send(new PutObjectCommand({ Bucket: 'other', Key: 'x', Body: 'not logged' }))
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a b/ü.txt', Body: 'hello' }))
  await client
    .send(new GetObjectCommand({ Bucket: 'photos', Key: 'a b/ü.txt' }))
    .then(({ Body }) => Body!.transformToString())
  t.equal(await outcome(client.send(new GetObjectCommand({ Bucket: 'photos', Key: 'none' }))), '404 NoSuchKey')
  await client.send(new ListObjectsV2Command({ Bucket: 'photos' }))
  await fetch(`${server.endpoint}/photos/secret?X-Amz-Signature=abc`, {
    headers: { 'user-agent': 'a "quoted" \\ agent', referer: 'http://page.example/?X-Amz-Signature=abc&page=2' },
  })
  const logs = await logsOf(server, 'logs', 'p/', 6)
  for (const { key } of logs) t.match(key, /^p\/\d{4}(-\d\d){5}-[0-9A-F]{16}$/)
  const fields = logs.flatMap(({ lines }) => lines).map(fieldsOf)
  for (const line of fields) {
    t.equal(line.length, 26)
    t.match(line.slice(0, 4), [
      /^[0-9a-f]{64}$/,
      'photos',
      /^\[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\]$/,
      '127.0.0.1',
    ])
  }
  const of = (operation: string, status: string) =>
    fields.find(line => line[6] === operation && line[9] === status) ?? []
  t.equal(of('REST.PUT.LOGGING_STATUS', '200')[7], '-')
  t.match(of('REST.PUT.OBJECT', '200').slice(7, 14), [
    'a%20b/%C3%BC.txt',
    /^"PUT \/photos\/a%20b\/%C3%BC\.txt\S* HTTP\/1\.1"$/,
    '200',
    '-',
    '-',
    '5',
  ])
  t.match(of('REST.GET.OBJECT', '200').slice(10, 13), ['-', '5', '5'])
  t.match(of('REST.GET.OBJECT', '200').slice(19, 22), ['SigV4', '-', 'AuthHeader'])
  t.equal(of('REST.GET.OBJECT', '404')[10], 'NoSuchKey')
  t.equal(of('REST.GET.BUCKET', '200')[7], '-')
  const refused = fields.find(line => line[7] === 'secret') ?? []
  t.equal(refused[4], '-')
  t.notMatch(refused[8], /abc/, 'without the signature')
  t.equal(refused[15], '"http://page.example/?X-Amz-Signature=*REDACTED*&page=2"')
  t.equal(refused[16], '"a %22quoted%22 %5C agent"')
  t.equal(fields.length, 6, 'nothing of other buckets, and each once')
})

t.test('partitioned keys, and a bucket that is its own target', async t => {
  const server = await startLogging(t)
  await makeBuckets(server, 'photos', 'events')
  const enable = (Bucket: string, PartitionDateSource: 'EventTime' | 'DeliveryTime') =>
    put(server, Bucket, {
      TargetBucket: Bucket,
      TargetPrefix: 'log/',
      TargetObjectKeyFormat: { PartitionedPrefix: { PartitionDateSource } },
    })
  t.equal(await enable('photos', 'DeliveryTime'), 'ok')
  t.equal(await enable('events', 'EventTime'), 'ok')
  const [delivered] = await logsOf(server, 'photos', 'log/', 1)
  const [happened] = await logsOf(server, 'events', 'log/', 1)
  const name = /(\d{4})\/(\d\d)\/(\d\d)\/\1-\2-\3-(\d\d-\d\d-\d\d)-[0-9A-F]{16}$/
  t.match(delivered!.key, new RegExp(`^log/000000000000/us-east-1/photos/${name.source}`))
  t.match(happened!.key, new RegExp(`^log/000000000000/us-east-1/events/${name.source}`))
  t.equal(name.exec(happened!.key)?.[4], '00-00-00')
  const all = (await logsOf(server, 'photos', 'log/', 3)).flatMap(({ lines }) => lines)
  t.notMatch(all.join('\n'), /PUT \/photos\/log/, 'objects that the log writes are no requests')
})

t.test('queued records are delivered after a restart; a missing target delays no other', async t => {
  const drive = await mkdtemp(join(tmpdir(), 'svc-bucket-logging-'))
  t.teardown(() => rm(drive, { recursive: true }))
  // The first round is over before any request: nothing is delivered before the stop.
  const first = await startServer({ drive, config: { 'bucket-logging': { intervalMs: hour } } })
  await makeBuckets(first, 'photos', 'videos', 'logs', 'gone')
  t.equal(await put(first, 'photos', { TargetBucket: 'logs', TargetPrefix: '' }), 'ok')
  t.equal(await put(first, 'videos', { TargetBucket: 'gone', TargetPrefix: '' }), 'ok')
  await first.client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'kept', Body: 'x' }))
  await first.client.send(new PutObjectCommand({ Bucket: 'videos', Key: 'lost', Body: 'x' }))
  await first.client.send(new DeleteBucketCommand({ Bucket: 'gone' }))
  const { Contents } = await first.client.send(new ListObjectsV2Command({ Bucket: 'logs' }))
  t.equal(Contents, undefined)
  await first.stop()
  const second = await startLogging(t, { drive })
  const logs = await logsOf(second, 'logs', '', 2)
  const operations = logs.flatMap(({ lines }) => lines).map(line => fieldsOf(line)[6])
  t.same(operations.sort(), ['REST.PUT.LOGGING_STATUS', 'REST.PUT.OBJECT'])
})

t.test('a line tells the version of the signature, and where it stood', t => {
  const identity = { accessKey: 'ada', isRoot: false, ownerId: 'a'.repeat(64), displayName: 'ada' }
  const lineOf = (query: string, headers: Readonly<Record<string, string>>, userAgent = 'old/1.0') => {
    const record: Partial<S3RequestRecord> = {
      operation: 'GetObject',
      requestId: 'A1',
      method: 'GET',
      path: '/photos/a',
      query,
      bucket: 'photos',
      key: 'a',
      identity,
      clientAddress: '192.0.2.1',
      userAgent,
      status: 200,
      timeMs: 0,
      durationMs: 1,
      sentBytes: 5,
    }
    return logLine({ ...record, request: { headers } } as S3RequestRecord, identity.ownerId)
  }
  const told = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    fieldsOf(lineOf(query, headers)).slice(19, 22)
  t.same(told('', { authorization: 'AWS4-HMAC-SHA256 …' }), ['SigV4', '-', 'AuthHeader'])
  t.same(told('X-Amz-Signature=a'), ['SigV4', '-', 'QueryString'])
  t.same(told('', { authorization: 'AWS ada:…' }), ['SigV2', '-', 'AuthHeader'])
  t.same(told('AWSAccessKeyId=ada&Signature=a&Expires=1'), ['SigV2', '-', 'QueryString'])
  // Next line and the beginning of a sequence for terminals, as bytes of Latin-1.
  t.match(lineOf('', {}, 'a\u0085b\u009bc'), '"a%85b%9Bc"')
  t.end()
})

t.test('lines that come faster than they can be queued are counted by target', async t => {
  const server = await startLogging(t)
  await makeBuckets(server, 'photos', 'logs')
  t.equal(await put(server, 'photos', { TargetBucket: 'logs', TargetPrefix: '' }), 'ok')
  const observe = server.kernel.point('s3.observer').get('bucket-logging')!
  const record = {
    operation: 'GetObject',
    requestId: 'A1',
    method: 'GET',
    path: `/photos/${'a'.repeat(8000)}`,
    query: '',
    bucket: 'photos',
    key: 'a'.repeat(1000),
    clientAddress: '192.0.2.1',
    userAgent: 'test',
    status: 200,
    timeMs: 0,
    durationMs: 1,
    sentBytes: 5,
    request: { headers: {} },
  } as unknown as S3RequestRecord
  // In one turn of the event loop: nothing is queued meanwhile.
  for (let count = 0; count < 2000; count++) observe(record)
  const text = await server.kernel.services.metrics.scrape()
  const lost = Number(/^svc_bucket_logging_dropped_total\{target="logs"[^}]*\} (\d+)$/m.exec(text)?.[1])
  t.ok(lost > 0 && lost < 2000, `${lost} lines`)
})
