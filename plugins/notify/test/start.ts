/** The real server with a kind of target over HTTP, and steps that its tests share. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateBucketCommand,
  type Event,
  PutBucketNotificationConfigurationCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import {
  type AdminAnswer,
  type AdminCaller,
  startAdmin,
  type TestAdmin,
  type TestAdminOptions,
} from 'svc/plugins/admin/testing'
import { until } from 'svc/testing'
import type { Test } from 'tap'
import { httpPlugin, type Receiver, startReceiver } from './http-target.ts'

export const arn = 'arn:svc:sqs:us-east-1:_:http'

/** A message as the target receives it. */
export interface Told {
  readonly EventName: string
  readonly Key: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly Records: readonly any[]
}

export interface NotifyServer {
  readonly admin: TestAdmin
  readonly s3: S3Client
  readonly receiver: Receiver
  call(method: string, path: string, body?: unknown): Promise<AdminAnswer>
  configure(settings: Readonly<Record<string, string | null>>, subsystem?: string): Promise<AdminAnswer>
  bucketWith(name: string, events: readonly string[], filter?: { prefix?: string; suffix?: string }): Promise<void>
  /** Waits for this number of messages, and returns all so far, without test messages; of one bucket. */
  told(bucket: string, count: number): Promise<readonly Told[]>
}

export async function startNotify(t: Test, options: TestAdminOptions = {}): Promise<NotifyServer> {
  const receiver = await startReceiver('s3cret-token')
  t.teardown(() => receiver.stop())
  const config = { prometheus: { authType: 'public' }, ...options.config }
  const admin = await startAdmin({ ...options, config, plugins: [httpPlugin, ...(options.plugins ?? [])] })
  t.teardown(admin.stop)
  const { s3 } = admin
  const call = callOf(admin.signed)
  const server: NotifyServer = {
    admin,
    s3,
    receiver,
    call,
    configure: (settings, subsystem = 'notify_http') => call('PATCH', `/config/${subsystem}`, { settings }),
    async bucketWith(name, events, filter) {
      await s3.send(new CreateBucketCommand({ Bucket: name }))
      await subscribe(s3, name, events, filter)
    },
    async told(bucket, count) {
      const ours = () => messagesOf(receiver, bucket)
      await until(() => ours().length >= count)
      // And no further messages arrive.
      await sleep(50)
      return ours()
    },
  }
  const configured = await server.configure({ enable: 'on', endpoint: receiver.endpoint, token: 's3cret-token' })
  if (configured.status !== 200) throw new Error(configured.text)
  return server
}

export function messagesOf(receiver: Receiver, bucket: string): readonly Told[] {
  return receiver.bodies.map(body => JSON.parse(body)).filter(({ Key }) => Key?.startsWith(`${bucket}/`))
}

export async function subscribe(
  s3: S3Client,
  bucket: string,
  events: readonly string[],
  { prefix, suffix }: { prefix?: string; suffix?: string } = {},
): Promise<void> {
  const FilterRules = [
    ...(prefix === undefined ? [] : [{ Name: 'prefix' as const, Value: prefix }]),
    ...(suffix === undefined ? [] : [{ Name: 'suffix' as const, Value: suffix }]),
  ]
  await s3.send(
    new PutBucketNotificationConfigurationCommand({
      Bucket: bucket,
      NotificationConfiguration: {
        QueueConfigurations: [
          { Id: 'rule-1', QueueArn: arn, Events: events as Event[], Filter: { Key: { FilterRules } } },
        ],
      },
    }),
  )
}

function callOf(signed: AdminCaller) {
  return (method: string, path: string, body?: unknown) => signed({ method, path: `/api/v1${path}`, body })
}
