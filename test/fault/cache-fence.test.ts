/**
 * After a write is acknowledged, no answer to a request that begins then is from before it: not from the cache of any thread, and not from a
 * read of the bucket that was under way. Writers change objects in every way, each key by one writer, while readers of the same keys write
 * down what was acknowledged before each request, and what had begun when its answer came.
 */
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { type SeededRandom, seeded } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer, type TestServer } from '../wire/server.ts'

const writesOf = { key: 300, setting: 40 }
const readersPerKey = 3
const host = 'www.example.test'

/** What a path answers with, state after state. `acknowledged` and `begun` are indices of states. */
interface Subject {
  readonly path: string
  readonly states: string[]
  acknowledged: number
  isDone: boolean
  readonly rounds: number
  /** The state that comes next, and the change that leads to it. */
  next(random: SeededRandom, index: number): readonly [state: string, change: () => Promise<unknown>]
}

interface Counted {
  reads: number
  readonly results: Map<string, number>
}

async function write(subject: Subject, random: SeededRandom): Promise<void> {
  for (let index = 1; index <= subject.rounds; index++) {
    const [state, change] = subject.next(random, index)
    subject.states.push(state)
    await change()
    subject.acknowledged = index
    // Long enough for hits between two writes, now and then.
    if (random.integer(4) === 0) await new Promise(resolve => setTimeout(resolve, random.integer(8)))
  }
  subject.isDone = true
}

async function read(
  name: string,
  subject: Subject,
  port: number,
  counted: Counted,
  onWrong: (message: string) => void,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (!subject.isDone) {
    const least = subject.acknowledged
    const { state, result } = await get(agent, port, name, subject.path)
    const possible = subject.states.slice(least)
    if (!possible.includes(state)) {
      const was = subject.states.lastIndexOf(state)
      onWrong(`${subject.path} was "${state}" (${was}, ${result}), and ${least} was acknowledged: ${possible}`)
    }
    counted.reads++
    counted.results.set(result, (counted.results.get(result) ?? 0) + 1)
  }
  agent.destroy()
}

/** The state is the body of a page, or the status where there is none. */
function get(agent: Agent, port: number, Host: string, path: string): Promise<{ state: string; result: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, headers: { Host } }, answer => {
      text(answer).then(body => {
        const state = answer.statusCode === 200 ? body : String(answer.statusCode)
        resolve({ state, result: String(answer.headers['x-cache']) })
      }, reject)
    })
    sent.on('error', reject).end()
  })
}

/** One object: written, copied, assembled of parts, deleted. */
function objectSubject(s3: S3Client, Bucket: string, Key: string, start: string): Subject {
  const put = (Body: string, to = Key) => s3.send(new PutObjectCommand({ Bucket, Key: to, Body }))
  const subject: Subject = {
    path: `/${Key}`,
    states: [start],
    acknowledged: 0,
    isDone: false,
    rounds: writesOf.key,
    next(random, index) {
      const body = `${Key} ${index}`
      switch (random.integer(6)) {
        case 0:
          return ['404', () => s3.send(new DeleteObjectCommand({ Bucket, Key }))]
        case 1:
          return [
            body,
            async () => {
              await put(body, `sources/${Key}`)
              await s3.send(new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/sources/${Key}` }))
            },
          ]
        case 2:
          return [
            body,
            async () => {
              const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
              const part = { Bucket, Key, UploadId, PartNumber: 1 }
              const { ETag } = await s3.send(new UploadPartCommand({ ...part, Body: body }))
              const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
              await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
            },
          ]
        default:
          return [body, () => put(body)]
      }
    },
  }
  return subject
}

/** One object with versions: older ones come back as copies, and by the deletion of what covers them. */
function versionSubject(s3: S3Client, Bucket: string, Key: string, start: string): Subject {
  const versions: { id: string | undefined; state: string }[] = []
  return {
    path: `/${Key}`,
    states: [start],
    acknowledged: 0,
    isDone: false,
    rounds: writesOf.key,
    next(random, index) {
      const covered = versions.at(-2)
      const newest = versions.at(-1)
      if (covered !== undefined && newest !== undefined && random.integer(3) === 0) {
        versions.pop()
        return [covered.state, () => s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId: newest.id }))]
      }
      const old = versions.length > 0 && random.integer(3) === 0 ? random.pick(versions) : undefined
      if (old !== undefined && old.state !== '404') {
        const CopySource = `${Bucket}/${Key}?versionId=${old.id}`
        return [
          old.state,
          async () => {
            const { VersionId } = await s3.send(new CopyObjectCommand({ Bucket, Key, CopySource }))
            versions.push({ id: VersionId, state: old.state })
          },
        ]
      }
      const state = random.integer(5) === 0 ? '404' : `${Key} ${index}`
      return [
        state,
        async () => {
          const command =
            state === '404'
              ? new DeleteObjectCommand({ Bucket, Key })
              : new PutObjectCommand({ Bucket, Key, Body: state })
          const { VersionId } = await s3.send(command as PutObjectCommand)
          versions.push({ id: VersionId, state })
        },
      ]
    },
  }
}

type Setting = readonly [state: string, change: () => Promise<unknown>]

/** Settings that decide what a path answers, one after the other. */
function settingSubject(path: string, settings: readonly Setting[], start: string): Subject {
  return {
    path,
    states: [start],
    acknowledged: 0,
    isDone: false,
    rounds: writesOf.setting,
    next: (_random, index) => settings[index % settings.length] as Setting,
  }
}

async function race(t: Test, server: TestServer, random: SeededRandom): Promise<void> {
  const s3 = createClient(server)
  const admin = createAdminClient(server)
  const web = Number(String(server.startup.web).split(':').at(-1))
  const objects = ['a.txt', 'b.txt', 'docs/c.txt', 'd.txt']
  for (const Bucket of ['pages', 'versions', 'shut', 'folders']) await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new PutBucketVersioningCommand({ Bucket: 'versions', VersioningConfiguration: { Status: 'Enabled' } }))
  const put = (Bucket: string, Key: string) => s3.send(new PutObjectCommand({ Bucket, Key, Body: `${Key} 0` }))
  for (const key of objects) await put('pages', key)
  await put('versions', 'v.txt')
  await put('shut', 'open.txt')
  await put('folders', 'one.html')
  await put('folders', 'two.html')
  const publish = (id: string, bucket: string, name: string, more = {}) =>
    admin.call('PUT', `/distributions/${id}`, { id, aliases: [name], origin: { bucket }, ...more })
  await publish('pages', 'pages', host)
  await publish('versions', 'versions', 'versions.example.test')
  await publish('shut', 'shut', 'shut.example.test')
  const folders = (indexDocument: string) =>
    publish('folders', 'folders', 'folders.example.test', { defaultBehavior: { indexDocument } })
  await folders('one.html')
  const block = (isBlocked: boolean) =>
    s3.send(
      new PutPublicAccessBlockCommand({
        Bucket: 'shut',
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: isBlocked,
          IgnorePublicAcls: isBlocked,
          BlockPublicPolicy: isBlocked,
          RestrictPublicBuckets: isBlocked,
        },
      }),
    )
  await block(false)
  const subjects: [string, Subject][] = [
    ...objects.map(key => [host, objectSubject(s3, 'pages', key, `${key} 0`)] as [string, Subject]),
    ['versions.example.test', versionSubject(s3, 'versions', 'v.txt', 'v.txt 0')],
    [
      'shut.example.test',
      settingSubject(
        '/open.txt',
        [
          ['open.txt 0', () => block(false)],
          ['403', () => block(true)],
        ],
        'open.txt 0',
      ),
    ],
    [
      'folders.example.test',
      settingSubject(
        '/',
        [
          ['one.html 0', () => folders('one.html')],
          ['two.html 0', () => folders('two.html')],
        ],
        'one.html 0',
      ),
    ],
  ]
  const counted: Counted = { reads: 0, results: new Map() }
  let wrong = 0
  const onWrong = (message: string) => {
    if (wrong++ < 5) t.fail(message)
  }
  await Promise.all(
    subjects.flatMap(([name, subject]) => [
      write(subject, random),
      ...Array.from({ length: readersPerKey }, () => read(name, subject, web, counted, onWrong)),
    ]),
  )
  t.equal(wrong, 0, `${counted.reads} reads`)
  t.comment(`${counted.reads} reads: ${[...counted.results].map(([name, count]) => `${name} ${count}`).join(', ')}`)
  t.ok((counted.results.get('HIT') ?? 0) > 100, 'the cache has answered')
}

for (const workers of ['0', '2']) {
  t.test(`${workers} workers: no answer is older than the last acknowledged write`, async t => {
    const environment = { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_WORKERS: workers }
    const server = await startServer({ environment })
    t.teardown(() => server.remove())
    await seeded(t, random => race(t, server, random))
  })
}

t.test('what lifecycle has removed is in no later answer', async t => {
  const environment = { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_WORKERS: '2', SVC_LIFECYCLE_DAY: '1s' }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  const admin = createAdminClient(server)
  const port = Number(String(server.startup.web).split(':').at(-1))
  const Bucket = 'pages'
  await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new PutObjectCommand({ Bucket, Key: 'old.txt', Body: 'old' }))
  await admin.call('PUT', '/distributions/pages', { id: 'pages', aliases: [host], origin: { bucket: Bucket } })
  /** Over connections of their own, so that they come to every thread. */
  const states = async () => {
    const asked = Array.from({ length: 24 }, () => get(new Agent(), port, host, '/old.txt'))
    return new Set((await Promise.all(asked)).map(({ state }) => state))
  }
  await states()
  t.same([...(await states())], ['old'])
  await s3.send(
    new PutBucketLifecycleConfigurationCommand({
      Bucket,
      LifecycleConfiguration: {
        Rules: [{ ID: 'all', Status: 'Enabled', Filter: { Prefix: '' }, Expiration: { Days: 1 } }],
      },
    }),
  )
  const isThere = async () => {
    const { KeyCount } = await s3.send(new ListObjectsV2Command({ Bucket }))
    return KeyCount !== 0
  }
  while (await isThere()) {
    await states()
    // Refused while the server itself is at it.
    await admin.call('POST', `/buckets/${Bucket}/lifecycle/run`).catch(() => undefined)
  }
  t.same([...(await states())], ['404'])
})
