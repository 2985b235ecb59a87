/** Access logs of buckets through a real server, in each process model: what was queued survives a kill. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketLoggingCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

for (const workers of ['0', '2']) {
  t.test(`queued lines are delivered after a kill, with ${workers} workers`, async t => {
    const environment = { SVC_WORKERS: workers, SVC_PROMETHEUS_AUTH_TYPE: 'public' }
    const server = await startServer({ environment: { ...environment, SVC_BUCKET_LOGGING_INTERVAL: '1h' } })
    t.teardown(() => server.remove())
    const s3 = createClient(server)
    t.teardown(() => s3.destroy())
    const queued = async (): Promise<number> => {
      const text = await (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
      return Number(/^svc_queue_pending\{[^}]*bucket-logging[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0)
    }
    const untilQueued = async (entries: number) => {
      while ((await queued()) < entries) await sleep(50)
    }
    await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
    await s3.send(new CreateBucketCommand({ Bucket: 'logs' }))
    const LoggingEnabled = { TargetBucket: 'logs', TargetPrefix: 'p/' }
    await s3.send(new PutBucketLoggingCommand({ Bucket: 'photos', BucketLoggingStatus: { LoggingEnabled } }))
    await untilQueued(1)
    // One after the other, so that each is an entry of its own.
    const keys = ['a', 'b', 'c', 'd']
    for (const [index, Key] of keys.entries()) {
      await s3.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: Key }))
      await untilQueued(index + 2)
    }
    const delivered = async () => {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: 'logs' }))
      const texts = Contents.map(async ({ Key }) => {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'logs', Key }))
        return Body!.transformToString()
      })
      return (await Promise.all(texts)).join('')
    }
    t.equal(await delivered(), '', 'nothing was delivered before the kill')
    await server.kill()
    await server.start({ ...environment, SVC_BUCKET_LOGGING_INTERVAL: '200ms' })
    let text = ''
    while ((text.match(/REST\.PUT\.OBJECT/g)?.length ?? 0) < keys.length) {
      await sleep(50)
      text = await delivered()
    }
    for (const key of keys) t.match(text, new RegExp(` REST\\.PUT\\.OBJECT ${key} "PUT /photos/${key}`))
  })
}
