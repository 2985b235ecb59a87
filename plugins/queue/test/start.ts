/** The queue over a real drive in a temporary folder, in one thread, with a plugin that declares the topic `news`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import type { Disk } from 'svc/plugins/drive/api'
import { driveOn } from 'svc/plugins/drive/index'
import { createSystemDisk } from 'svc/plugins/drive/testing'
import standard from 'svc/plugins/standard'
import type { StorageService } from 'svc/plugins/storage/api'
import { startKernel, type TestKernel } from 'svc/testing'
import type { Test } from 'tap'
import type { NewEntry, QueueEntry, QueueTopic } from '../api.ts'

export interface PutArguments {
  readonly queue: string
  readonly entries: readonly NewEntry[]
  readonly limit: number
  /** Rolls back the commit at its end. */
  readonly fails?: boolean
}

export interface StartedQueue {
  readonly news: QueueTopic
  readonly storage: StorageService
  readonly kernel: TestKernel
  /** In one commit of `news.put`: for each entry, whether the queue took it. */
  put(args: PutArguments): Promise<boolean[]>
  stop(): Promise<void>
}

export interface StartOptions {
  /** Replaces operations of the disk. */
  readonly disk?: Partial<Disk>
  /** Whether the plugin that declares the topic is loaded. Default true. */
  readonly isDeclared?: boolean
}

export async function startQueue(
  folder: string,
  { disk, isDeclared = true }: StartOptions = {},
): Promise<StartedQueue> {
  let news: QueueTopic | undefined
  const plugin = definePlugin({
    name: 'news',
    requires: ['queue', 'storage'],
    setup({ services }) {
      const topic = services.queue.topic('news')
      news = topic
      services.storage.define({
        'news.put': (tx, { queue, entries, limit, fails }: PutArguments) => {
          const taken = entries.map(entry => topic.put(tx, queue, entry, limit))
          if (fails === true) throw new Error('taken back')
          return taken
        },
      })
    },
  })
  const kernel = await startKernel({
    plugins: [
      ...standard.map(each => (each.name === 'drive' ? driveOn({ ...createSystemDisk(), ...disk }) : each)),
      ...(isDeclared ? [plugin] : []),
    ],
    config: {
      storage: { endpoints: [folder] },
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      prometheus: { authType: 'public' },
      iam: { rootUser: 'rootaccess', rootPassword: 'root password' },
      // Without a master key, opening the store takes a quarter of a second: the key is derived from the root password.
      store: { masterKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    },
  })
  const { storage } = kernel.services
  return {
    news: news!,
    storage,
    kernel,
    put: args => storage.execute<boolean[]>('news.put', args),
    async stop() {
      const failures = await kernel.stop()
      if (failures.length > 0) throw new AggregateError(failures)
    },
  }
}

export async function startForTest(t: Test, options: StartOptions = {}, folder?: string): Promise<StartedQueue> {
  const queue = await startQueue(folder ?? (await newFolder(t)), options)
  t.teardown(queue.stop)
  return queue
}

export async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-queue-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return folder
}

export function entry(key: string, text: string): NewEntry {
  return { key, payload: Buffer.from(text) }
}

export function textOf({ payload }: QueueEntry): string {
  return payload.toString('utf8')
}
